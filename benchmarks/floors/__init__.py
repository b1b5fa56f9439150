# SPDX-License-Identifier: Apache-2.0
"""The same work without Python, for reference: small C programs, measured in the same rounds as all cases.

They are built for each run, in its own folder, so that none is ever out of date. Without a compiler there are none.

In: cases. Out: a program for each, or the reason why it could not be built.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from slipring.bench import process_group
from slipring.bench.case import Case

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "core"
# The program of each floor.
PROGRAMS = {"c-core": "core", "c-core-sleeping": "core", "c-futex": "futex"}
# Which floors answer a question, beside which case of ours: with the same settings.
BESIDE = {
    "throughput": {"slipring": ["c-core"]},
    "batches": {"slipring-arrow": ["c-core"]},
    "round_trip": {"slipring": ["c-core"], "slipring-sleeping": ["c-core-sleeping", "c-futex"]},
}
# Those the programs know.
SETTINGS = {"size"}
# As meson builds the core; see meson.build and pyproject.toml.
FLAGS = (
    "-O3",
    "-std=c11",
    "-D_GNU_SOURCE",
    "-DNDEBUG",
    "-D_FILE_OFFSET_BITS=64",
    "-fvisibility=hidden",
    "-pthread",
)
LINK_TIME = "-flto=auto"


def beside(case: Case) -> list[Case]:
    """The floors under a case, to be measured right before it."""
    if not case.settings.keys() <= SETTINGS:
        return []
    names = BESIDE.get(case.question, {}).get(case.transport, [])
    return [Case(case.question, name, case.settings) for name in names]


class Floors:
    """The programs under some cases: those that could be built, and why the others could not."""

    def __init__(self, folder: Path, cases: list[Case]) -> None:
        self.programs: dict[str, Path] = {}
        self.reasons: dict[str, str] = {}
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        asked = [PROGRAMS[case.transport] for case in cases if case.transport in PROGRAMS]
        for program in dict.fromkeys(asked):
            if compiler is None:
                self.reasons[program] = "needs a C compiler: cc"
            else:
                self._build(compiler, program, folder / program)

    def _build(self, compiler: str, program: str, target: Path) -> None:
        command = [compiler, *FLAGS, "-o", str(target), str(HERE / f"{program}.c")]
        if program == "core":
            command += [
                LINK_TIME,
                *(f"-I{CORE / folder}" for folder in ("include", "src")),
                *sorted(str(path) for path in CORE.glob("src/**/*.c")),
            ]
        try:
            # What it leaves goes with the folder, also when it is interrupted.
            done = process_group.run(command, environment={"TMPDIR": str(target.parent)})
        except OSError as error:
            self.reasons[program] = f"{error.strerror}: {compiler}"
            return
        if done.returncode == 0:
            self.programs[program] = target
        else:
            lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
            self.reasons[program] = f"{compiler} could not build it: {lines[0]}"
