# SPDX-License-Identifier: Apache-2.0
"""Report citations that lead nowhere: `tools/check-citations.py [PATH...]`; without a path, everything.

Citations are the files, functions and modules that comments, docstrings and Markdown name. A file is named by the end
of its path, at least as much as makes it unique: `hold.c` in the same room, `ring/hold.c` elsewhere. A function follows
its file (`hold.c:view`, `test_a.py::test_b`) or precedes it ("the fence in view (hold.c)"). Links of Markdown are
checked by tests/layout/test_citations.py.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from texts import report, texts, with_continuation

FILE = r"(?<![\w./{}*<-])((?:[\w.-]+/)*[\w-]+\.(?:c|h|py|pml|java|sh|fbs|toml|md))\b(?![\w/*-])"
CITED = re.compile(rf"(?:\bin (?P<before>\w+) \()?{FILE}(?:::?(?P<after>[A-Za-z]\w*))?")
MODULE = re.compile(r"(?<![\w./-])slipring(?:\.(?!(?:h|c|pc|so)\b)\w+)+")
SPAN = re.compile(r"``(.*?)``|`([^`\n]*)`")
# Documents for users name files of the reader's own; there, only paths of the repository are citations.
OF_USERS = (
    "README.md",
    "docs/start.md",
    "docs/concepts.md",
    "docs/guides/",
    "docs/security.md",
    "docs/caveats.md",
)
EXCLUDED = (
    "CHANGELOG.md",
    "examples/",
    "tests/fixtures/",
    "tests/tools/test_citation_check.py",
    "tools/check-citations.py",
)
COMMON = ("conftest.py", "__init__.py", "pan.c")  # of many directories; what Spin makes
TOP = ("core/", "src/", "tests/", "docs/", "tools/", "demo/", "benchmarks/", "examples/")


@cache
def files() -> tuple[str, ...]:
    return tuple(
        subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.splitlines()
    )


def resolved(path: str, cited: str) -> list[str]:
    """Return the files that `cited` may mean in the file `path`, the nearest ones alone."""
    folder = Path(path).parent
    beside = str(folder / cited)
    if beside in files() and beside != path:
        return [beside]
    found = [file for file in files() if file == cited or file.endswith("/" + cited)]
    for parent in folder.parents if str(folder) != "." else ():
        near = [file for file in found if str(parent) != "." and file.startswith(f"{parent}/")]
        if near:
            return near
    return found


@cache
def defined(file: str) -> str:
    return Path(file).read_text()


def defines(file: str, name: str) -> bool:
    if file.endswith(".py"):
        return (
            re.search(rf"^\s*(?:async )?(?:def|class) {name}\b|^{name}\b", defined(file), re.MULTILINE)
            is not None
        )
    return re.search(rf"\b(?:slr_|slipring_)?{name}\(", defined(file)) is not None


def module_exists(name: str) -> bool:
    """Whether a dotted name is a module of the package, or something that its last module defines."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        stem = "src/" + "/".join(parts[:length])
        for file in (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi"):
            if file in files():
                rest = parts[length:]
                return not rest or re.search(rf"\b{rest[0]}\b", defined(file)) is not None
    return False


def complaints(path: str, source: str) -> Iterator[str]:
    markdown = path.endswith(".md")
    for number, text, whole in with_continuation(list(texts(path, source))):
        if markdown:
            whole = " ".join(a or b for a, b in SPAN.findall(text))
            text = whole
        for found in CITED.finditer(whole):
            if found.start() >= len(text):
                continue
            cited = found[2]
            if cited in COMMON or (path.startswith(OF_USERS) and not cited.startswith(TOP)):
                continue
            candidates = resolved(path, cited)
            function = found["after"] or found["before"]
            if not candidates:
                yield f"{path}:{number}: there is no file {cited}"
            elif len(candidates) > 1:
                yield f"{path}:{number}: {cited} may be {' or '.join(candidates)}"
            elif candidates == [path] and path.startswith("core/src/"):
                yield f"{path}:{number}: {cited} is this file"
            elif (
                function
                and (found["after"] or cited.endswith((".c", ".h")))
                and not defines(candidates[0], function)
            ):
                yield f"{path}:{number}: {candidates[0]} has no {function}"
        for module in MODULE.findall(whole):
            if module in text and path != "docs/guides/logging.md" and not module_exists(module):
                yield f"{path}:{number}: there is no {module}"


if __name__ == "__main__":
    sys.exit(report(sys.argv[1:], complaints, EXCLUDED))
