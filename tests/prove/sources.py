# SPDX-License-Identifier: Apache-2.0
"""The hash of the files that a part of the proofs depends on.

Comments and the layout of lines are left out of C and Promela files: they prove nothing. All else counts as it is.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
WITHOUT_COMMENTS = {".c", ".h", ".pml"}
# A text, a character, a comment, or white space. Within texts nothing is changed.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|\s+', re.DOTALL)


def stripped(text: str) -> str:
    """C without its comments, and with one space or line end where there is white space."""

    def short(match: re.Match) -> str:
        found = match[0]
        if found[0] in "\"'":
            return found
        if found.startswith("/"):
            return " "
        return "\n" if "\n" in found else " "

    once = TOKEN.sub(short, text)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", once)).strip()


def files(patterns: list[str]) -> list[Path]:
    """Each pattern has to find something: a part must not lose what it depends on by a move of files."""
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
    """Of the files that match, and of the settings of a run."""
    whole = hashlib.sha256()
    for setting in settings:
        whole.update(f"{setting}\0".encode())
    for path in files(patterns):
        content = path.read_bytes()
        if path.suffix in WITHOUT_COMMENTS:
            content = stripped(content.decode()).encode()
        whole.update(f"{path.relative_to(REPOSITORY)}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()[:32]
