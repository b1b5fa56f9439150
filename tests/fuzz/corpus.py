# SPDX-License-Identifier: Apache-2.0
"""The committed inputs of a fuzz target: a text file with one input a line, in hex, after "NAME: " if it has a name.

The name of other inputs is the SHA-1 of their bytes, as in libFuzzer. Minimising keeps inputs with a name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from support.core_build import REPOSITORY

OF_C = REPOSITORY / "core/tests/fuzz"


def file(target: str) -> Path:
    """Return the path of a target's inputs, whether or not it exists."""
    folder = OF_C if (OF_C / f"{target}.c").exists() else Path(__file__).parent
    return folder / "corpus" / f"{target}.txt"


def digest(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def load(target: str) -> dict[str, bytes]:
    """Return the inputs by name; empty for a target without a file."""
    path = file(target)
    found: dict[str, bytes] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("#"):
            continue
        name, _, text = line.rpartition(": ")
        data = bytes.fromhex(text)
        found[name or digest(data)] = data
    return found


def store(target: str, inputs: Mapping[str, bytes]) -> None:
    """Replace the inputs of a target. Inputs with a name come first."""
    named = [f"{name}: {data.hex()}" for name, data in sorted(inputs.items()) if is_named(name, data)]
    plain = sorted(data.hex() for name, data in inputs.items() if not is_named(name, data))
    head = f"# Inputs of the fuzz target {target}, one a line, in hex; tests/fuzz/corpus.py reads and writes this file."
    path = file(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([head, *named, *plain]) + "\n")


def is_named(name: str, data: bytes) -> bool:
    return name != digest(data)


def add(target: str, path: Path) -> None:
    """Add an input found by a run, with the name of its file."""
    store(target, {**load(target), path.name: path.read_bytes()})


def unpack(inputs: Mapping[str, bytes], folder: Path) -> Path:
    """Write one file for each input, as libFuzzer reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs.items():
        (folder / name).write_bytes(data)
    return folder
