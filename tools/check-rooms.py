# SPDX-License-Identifier: Apache-2.0
"""Report folders that are too large or state no contract, and names of modules with two meanings.

A folder has at most MOST_FILES tracked files of its own. FREE files are not counted, nor are folders of DATA.
A package of `src/slipring` states its contract in two lines or more, in the docstring of `__init__.py` or in a README.
A room of `core/src` does so in a README.
A module name of `src/slipring` stands in one package, except the ROLES and the folders of NAMED_AFTER.
"""

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath as Folder

MOST_FILES = 20
ROOTS = ("core", "src", "tests", "docs", "benchmarks", "demo", "examples", "tools")
FREE = {"__init__.py", "__main__.py", "conftest.py", "meson.build", "py.typed", "README", "README.md"}
DATA = {
    "corpus",
    "fixtures",
    "results",
}  # names of folders: inputs and figures, which nobody reads one by one
ROLES = {
    "bus": "The bus of a transport.",
    "connection": "The client's end of a connection to a server.",
    "errors": "The exceptions of a package, and texts of errors that others raise.",
    "options": "The options that users give to a package.",
    "publisher": "The sending handle of a transport.",
    "server": "The serving side, with its start and its end.",
    "store": "The files of a structure: create, describe, remove.",
    "subscriber": "The receiving handle of a transport.",
}
NAMED_AFTER = {
    "src/slipring/bench/questions": "A question has the name of the thing it measures.",
    "src/slipring/cli/verbs": "A verb has the name of the package or module it runs.",
    "src/slipring/testing": "A stepped twin has the name of the module it stands for.",
}


def main() -> int:
    files = [Folder(path) for path in _tracked()]
    found = [*large_folders(files), *silent_packages(files), *ambiguous_names(files)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def large_folders(files: list[Folder]) -> Iterator[str]:
    counts: dict[Folder, int] = defaultdict(int)
    for file in files:
        if file.name not in FREE and not DATA.intersection(file.parts):
            counts[file.parent] += 1
    for folder, count in sorted(counts.items()):
        if count > MOST_FILES:
            yield f"{folder}: {count} files; at most {MOST_FILES} are allowed: sort them into folders"


def silent_packages(files: list[Folder]) -> Iterator[str]:
    known = set(files)
    for folder in sorted({file.parent for file in files if _is_room(file)}):
        documents = [folder / "README", folder / "README.md"]
        if not folder.is_relative_to("core/src"):
            documents.append(folder / "__init__.py")
        if not any(_lines(document) >= 2 for document in documents if document in known):
            wanted = " or ".join(document.name for document in documents)
            yield f"{folder}: no contract; write two lines or more in {wanted}"


def ambiguous_names(files: list[Folder]) -> Iterator[str]:
    homes: dict[str, list[Folder]] = defaultdict(list)
    for file in files:
        in_package = file.is_relative_to("src/slipring") and file.suffix == ".py" and file.name not in FREE
        if in_package and file.stem not in ROLES and not any(map(file.is_relative_to, NAMED_AFTER)):
            homes[file.stem].append(file)
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield f"{name}.py: one name in {len(places)} packages; rename all but one: " + ", ".join(
                map(str, places)
            )


def _is_room(file: Folder) -> bool:
    if file.is_relative_to("core/src"):
        return file.suffix in {".c", ".h"}
    return file.is_relative_to("src/slipring") and file.suffix in {".py", ".c", ".h"}


def _lines(document: Folder) -> int:
    """The lines of text in a README or a module's docstring."""
    with open(document) as file:
        text = file.read()
    if document.suffix == ".py":
        text = ast.get_docstring(ast.parse(text)) or ""
    return sum(1 for line in text.splitlines() if line.strip())


def _tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "--", *ROOTS], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
