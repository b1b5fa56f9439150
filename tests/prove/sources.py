# SPDX-License-Identifier: Apache-2.0
"""Compute the hash of the files that a part of the proofs depends on.

The hash leaves out comments, docstrings, empty lines, and white space of C, Promela and Java: they change no result.
"""

import ast
import hashlib
import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
LIKE_C = {".c", ".h", ".pml", ".java"}
WITH_HASHES = {".build", ".options", ".sh", ".toml"}  # comments begin with #
# A string, a character, a comment, or white space. Strings stay as they are.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|\s+', re.DOTALL)


def stripped(text: str) -> str:
    """Return C without its comments, with each white space reduced to one space or line end."""

    def short(match: re.Match) -> str:
        found = match[0]
        if found[0] in "\"'":
            return found
        if found.startswith("/"):
            return " "
        return "\n" if "\n" in found else " "

    once = TOKEN.sub(short, text)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", once)).strip()


def stripped_python(text: str) -> str:
    """Return Python without its comments, docstrings and empty lines."""
    lines = [line.encode() for line in text.splitlines()]
    spans = [
        (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            before = len(token.line[: token.start[1]].encode())
            spans.append((token.start[0], before, token.start[0], len(lines[token.start[0] - 1])))
    for first, begin, last, end in sorted(spans, reverse=True):
        lines[first - 1 : last] = [lines[first - 1][:begin] + lines[last - 1][end:], *[b""] * (last - first)]
    return "\n".join(line.decode().rstrip() for line in lines if line.strip())


def files(patterns: list[str]) -> list[Path]:
    """Return the files that match, sorted. A pattern without a match is an error: a moved file must not drop out."""
    found: set[Path] = set()
    for pattern in patterns:
        here = {
            path for path in REPOSITORY.glob(pattern) if path.is_file() and "__pycache__" not in path.parts
        }
        if not here:
            raise LookupError(f"tests/prove/parts.toml: {pattern} matches no file; correct the pattern")
        found |= here
    return sorted(found)


def hash_of(patterns: list[str], settings: Iterable[str] = ()) -> str:
    """Return the hash of the files that match and of the settings of a run."""
    whole = hashlib.sha256()
    for setting in settings:
        whole.update(f"{setting}\0".encode())
    for path in files(patterns):
        content = path.read_bytes()
        if path.suffix in LIKE_C:
            content = stripped(content.decode()).encode()
        elif path.suffix == ".py":
            content = stripped_python(content.decode()).encode()
        elif path.suffix in WITH_HASHES:
            content = b"\n".join(
                line for line in content.splitlines() if line.strip() and line.lstrip()[:1] != b"#"
            )
        whole.update(f"{path.relative_to(REPOSITORY)}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:32]
