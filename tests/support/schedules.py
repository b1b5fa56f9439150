# SPDX-License-Identifier: Apache-2.0
"""The core compiled for core/tests/schedules (its head says what that is), as it is or with a mistake planted in it.

PYTHONPATH=tests python -m support.schedules PLACE      makes the program PLACE/schedules, to make a run again
"""

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "core"
WATCHDOG_S = 600
WRAPPED = [
    "syscall",
    "fcntl",
    "clock_gettime",
    "close",
    "openat",
    "malloc",
    "calloc",
    "free",
    "mmap",
    "mmap64",
    "munmap",
]
FLAGS = [
    "-std=c11",
    "-D_GNU_SOURCE",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Wstrict-prototypes",
]


class Build:
    """The program `schedules`, made in a directory of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.program = place / "schedules"
        sources = [
            *CORE.glob("src/*.c"),
            *CORE.glob("tests/schedules/*.c"),
            CORE / "tests/threads/share_mapping.c",
        ]
        self.objects = {source.name: place / f"{source.stem}.o" for source in sources}
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(lambda source: self._compile(source, CORE / "src", place, "-Werror"), sources))
        self._link(self.objects, self.program)

    def _compile(self, source: Path, headers: Path, place: Path, *more: str) -> None:
        command = [
            "cc",
            *FLAGS,
            *more,
            "-MMD",
            '-DSLR_ATOMICS_SHIM="shim.h"',
            f"-I{CORE / 'include'}",
            f"-I{headers}",
        ]
        command += [f"-I{CORE / 'tests/schedules'}", "-c", str(source), "-o", str(place / f"{source.stem}.o")]
        subprocess.run(command, check=True, timeout=WATCHDOG_S)

    def _link(self, objects: dict[str, Path], program: Path) -> None:
        wraps = ",".join(f"--wrap={name}" for name in WRAPPED)
        command = ["cc", "-o", str(program), *map(str, objects.values()), f"-Wl,{wraps}", "-lpthread"]
        subprocess.run(command, check=True, timeout=WATCHDOG_S)

    def planted(self, place: Path, file: str, before: str, after: str) -> Path:
        """The same program of sources in which `before`, which must be there once, is `after`."""
        shutil.copytree(CORE / "src", place / "src")
        text = (place / "src" / file).read_text()
        assert text.count(before) == 1, (
            f"{file} has changed: what is to be replaced is not there once: {before}"
        )
        (place / "src" / file).write_text(text.replace(before, after))
        objects = dict(self.objects)
        for name in self.objects:
            depends = (self.place / f"{Path(name).stem}.d").read_text()
            if not re.search(rf"/{re.escape(file)}\b", depends):
                continue
            source = (
                place / "src" / name if (place / "src" / name).exists() else CORE / "tests/schedules" / name
            )
            self._compile(source, place / "src", place, "-w")
            objects[name] = place / f"{Path(name).stem}.o"
        self._link(objects, place / "schedules")
        return place / "schedules"


def run(program: Path, *words: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(exist_ok=True)
    print(Build(Path(sys.argv[1])).program)
