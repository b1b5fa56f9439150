# SPDX-License-Identifier: Apache-2.0
"""Test programs in C: compiled with the core itself, so that one binary needs nothing but a C library."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(__file__).parent / "c"


def build(sources: Path, program: Path) -> None:
    files = [
        *sorted(sources.glob("*.c")),
        *sorted(SHARED.glob("*.c")),
        *sorted((REPOSITORY / "core/src").glob("*.c")),
    ]
    command = [
        "gcc",
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
    ]
    command += [
        f"-I{REPOSITORY}/core/include",
        f"-I{SHARED}",
        *map(str, files),
        "-lpthread",
        "-o",
        str(program),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
