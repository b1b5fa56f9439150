# SPDX-License-Identifier: Apache-2.0
"""The package with one of its named defects planted.

A marker is a comment in src/slipring, directly before the statement it concerns, indented like it:

    # defect NAME: REPLACEMENT
    statement

Planting NAME replaces the statement by REPLACEMENT. If REPLACEMENT ends with ":", only the header of the statement
(``if …:``, ``elif …:``, ``except …:``, ``with …:``) is replaced, and its body stays. `pass` takes the statement away.
Lines of comment that begin with ``#     `` continue REPLACEMENT. One statement may have several markers.

names()               every marker by its name
plant(text, name)     a source with that defect
package(place, name)  a copy of the package with it, or without a defect; returns the environment that imports it
"""

import ast
import io
import os
import re
import shutil
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src/slipring"
DISCOVERY = REPOSITORY / "src/discovery"  # modules beside the package: Spark and the command import them
_MARKER = re.compile(r"( *)# defect ([a-z][a-z0-9_]*): (.*\S)")
_CONTINUATION = re.compile(r" *# {5}(.*\S)")


@dataclass(frozen=True)
class Marker:
    name: str
    line: int
    indent: str
    replacement: tuple[str, ...]
    target: int  # the line on which the statement begins
    path: Path | None = None


def names(package: Path = PACKAGE) -> dict[str, Marker]:
    """All markers of the package; ValueError if two have one name."""
    found: dict[str, Marker] = {}
    for path in sorted(package.rglob("*.py")):
        for marker in markers(path.read_text(), path):
            if marker.name in found:
                other = found[marker.name]
                raise ValueError(f"two defects are named {marker.name}: {_at(other)} and {_at(marker)}")
            found[marker.name] = marker
    return found


def markers(text: str, path: Path | None = None) -> Iterator[Marker]:
    lines = text.splitlines()
    waiting: list[tuple[str, int, str, list[str]]] = []  # those whose statement is still to come
    for number, line in enumerate(lines, 1):
        if match := _MARKER.fullmatch(line):
            waiting.append((match[2], number, match[1], [match[3]]))
        elif line.lstrip().startswith("# defect "):
            where = path or "source"
            raise ValueError(f"{where}:{number}: a marker is '# defect lower_case_name: replacement'")
        elif waiting and (match := _CONTINUATION.fullmatch(line)):
            waiting[-1][3].append(match[1])
        else:
            for name, first, indent, replacement in waiting:
                yield Marker(name, first, indent, tuple(replacement), number, path)
            waiting.clear()
    if waiting:
        raise ValueError(f"{path or 'source'}: no statement follows the defect {waiting[0][0]}")


def plant(text: str, name: str) -> str:
    """The source with the defect of that name; LookupError if it has none."""
    chosen = [marker for marker in markers(text) if marker.name == name]
    if not chosen:
        raise LookupError(f"there is no defect {name!r}")
    if len(chosen) > 1:
        raise ValueError(f"two defects are named {name}: lines {chosen[0].line} and {chosen[1].line}")
    marker = chosen[0]
    lines = text.splitlines(keepends=True)
    end = _end(text, marker)
    lines[marker.target - 1 : end] = [f"{marker.indent}{line}\n" for line in marker.replacement]
    return "".join(lines)


def _end(text: str, marker: Marker) -> int:
    """The last line that is replaced."""
    statement = _statement(text, marker)
    if not marker.replacement[-1].endswith(":"):
        return statement.end_lineno or statement.lineno
    if not hasattr(statement, "body"):
        raise ValueError(f"defect {marker.name}: the statement at line {marker.target} has no header")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE and token.start[0] >= marker.target:
            return token.start[0]
    raise AssertionError("a header without an end")


def _statement(text: str, marker: Marker) -> ast.stmt | ast.ExceptHandler:
    column = len(marker.indent)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt | ast.ExceptHandler) and node.lineno == marker.target:
            if node.col_offset != column:
                break
            return node
    raise ValueError(f"defect {marker.name}: no statement as indented as it begins at line {marker.target}")


def package(place: Path, name: str | None = None) -> dict[str, str]:
    """A copy of the package under `place`, with the built extension of this checkout and the defect `name`."""
    copy = place / "slipring"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("_native", "__pycache__"))
    shutil.copytree(DISCOVERY, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    shutil.copy2(built_extension(), copy)
    if name is not None:
        every = names()
        if name not in every:
            raise LookupError(f"there is no defect {name!r} in {PACKAGE}")
        path = copy / every[name].path.relative_to(PACKAGE)
        path.write_text(plant(path.read_text(), name))
    return importing(place)


def importing(place: Path) -> dict[str, str]:
    """The environment in which the package under `place` is imported."""
    return {**os.environ, "PYTHONPATH": str(place)}


def built_extension() -> Path:
    """The extension of this checkout."""
    import slipring._native

    return Path(slipring._native.__file__)


def _at(marker: Marker) -> str:
    return f"{marker.path}:{marker.line}"
