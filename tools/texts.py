# SPDX-License-Identifier: Apache-2.0
"""The prose of tracked files, line by line, for the checks of words and citations beside this file.

Prose is Markdown without fenced blocks, comments, docstrings and names of tests; `strings` adds texts with a space.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

CODE_SPAN = re.compile(r"``.*?``|`[^`\n]*`|\]\([^)]*\)|<[^>\n]*>")
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.DOTALL)
NOT_PROSE = re.compile(r"# (noqa|type:|defect |fmt:|pragma|ruff:|mypy:)")
SUFFIXES = {".md", ".py", ".pyi", ".c", ".h", ".java", ".pml", ".sh", ".toml", ".build", ".options"}
NAMES = {"Makefile"}
Text = tuple[int, str]


def tracked(paths: list[str]) -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True)
    return [
        path for path in listed.stdout.splitlines() if Path(path).suffix in SUFFIXES and Path(path).is_file()
    ]


def report(
    paths: list[str], complaints: Callable[[str, str], Iterator[str]], excluded: tuple[str, ...]
) -> int:
    """Print the complaints about the files below these paths, or about all. Return the exit code."""
    found: list[str] = []
    for path in tracked(paths):
        if not path.startswith(excluded):
            found += complaints(path, Path(path).read_text())
    print("\n".join(dict.fromkeys(found)), end="\n" if found else "")
    return 1 if found else 0


def texts(path: str, source: str) -> Iterator[Text]:
    """Return pairs of a line number and a line; code spans of Markdown stay."""
    in_tests = path.startswith(("tests/", "core/tests/"))
    match Path(path).suffix:
        case ".md":
            yield from _markdown(source)
        case ".py" | ".pyi":
            yield from _python(source, in_tests=in_tests)
        case ".c" | ".h" | ".java" | ".pml":
            yield from _c(source)
        case _:
            yield from _hashes(source)


def _markdown(source: str) -> Iterator[Text]:
    fenced = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _python(source: str, *, in_tests: bool) -> Iterator[Text]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not NOT_PROSE.match(token.string):
            yield token.start[0], token.string
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            docstrings.add(id(node.body[0].value))  # type: ignore[attr-defined]
        if in_tests and isinstance(node, documented[2:]) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")
    strings = (
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    for node in strings:
        if id(node) in docstrings or (not in_tests and " " in node.value.strip()):
            for offset, line in enumerate(node.value.splitlines()):
                yield node.lineno + offset, line


def _c(source: str) -> Iterator[Text]:
    for found in C_TEXT.finditer(source):
        first = source.count("\n", 0, found.start()) + 1
        text = found.group()
        if text.startswith("/") or " " in text:
            for offset, line in enumerate(text.splitlines()):
                yield first + offset, line


def _hashes(source: str) -> Iterator[Text]:
    for number, line in enumerate(source.splitlines(), 1):
        comment = re.search(r"(^|\s)#(?![!{]).*", line)
        if comment:
            yield number, comment.group()


def with_continuation(pieces: list[Text]) -> Iterator[tuple[int, str, str]]:
    """Return each line, and the line joined with the next one, so that a line break hides nothing."""
    for (number, text), (next_number, following) in zip(pieces, [*pieces[1:], (0, "")], strict=False):
        text = text.rstrip()
        yield number, text, f"{text} {following.lstrip(' *#/')}" if next_number == number + 1 else text
