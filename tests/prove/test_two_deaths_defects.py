# SPDX-License-Identifier: Apache-2.0
"""The tests of two deaths in a row are seen to fail on recoveries with a seeded defect.

Each defect is put into a copy of the core, which is built with its crash points together with the test. The first of
them shows with the second death only: a sweep that clears up after one of the dead.
"""

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "core/tests"
HARNESS = ["harness/process.c", "harness/topic.c"]
TOPIC_WORLD = [f"crash/{name}.c" for name in ("roles", "stamp", "victim", "world")] + [
    *HARNESS,
    "harness/endless_sleeps.c",
]
FRAMES_WORLD = ["crash/frames_roles.c", "crash/frames_world.c", "harness/frame_topic.c", *HARNESS]
ENDS_WORLD = ["cells/ends_roles.c", "cells/ends_world.c", "harness/stamped.c", *HARNESS]
POINTS = {
    "cells-points-in-sources.h": "cells",
    "frames-points.h": "frame|pool|announcement",
    "points-in-sources.h": "",
}

DEFECTS = {
    "a sweep clears up after one of the dead": (
        ["crash/a_recoverer_killed_at_any_point_disturbs_nobody.c", *TOPIC_WORLD],
        "sweep.c",
        "swept += slr_swap_if(&s->writer[e].state, state, slr_kind_next(state, SLR_KIND_FREE));",
        "if (!swept) swept += slr_swap_if(&s->writer[e].state, state, slr_kind_next(state, SLR_KIND_FREE));",
    ),
    "a writer of frames leaves what a dead one marked": (
        ["crash/frames_survive_two_deaths_at_any_points.c", *FRAMES_WORLD],
        "frame_writer.c",
        "if (slr_buffer_state_of(word) == SLR_BUFFER_SENT) continue;",
        "continue;",
    ),
    "a writer of cells forgets the swap of a dead one": (
        ["cells/two_ends_killed_at_any_points_disturb_nobody.c", *ENDS_WORLD],
        "cells.c",
        "if (a.done) slr_poke(&c->slot[slr_cells_index(c, a.turn)].kept, a.intent.keep);",
        "",
    ),
}


INCLUDES = [
    f"-I{REPOSITORY / place}"
    for place in ("core/include", "core/src", "core/tests/harness", "core/tests/crash")
]
COMPILE = ["gcc", "-std=c11", "-D_GNU_SOURCE", "-DSLR_CRASH_POINTS", "-O0"]


def _gcc(*arguments: object, where: Path) -> None:
    done = subprocess.run([*COMPILE, *map(str, arguments)], cwd=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The core's objects with crash points, and the lists of these."""
    place = tmp_path_factory.mktemp("core")
    sources = sorted((REPOSITORY / "core/src").glob("*.c"))
    _gcc(*INCLUDES, "-c", *sources, where=place)
    left = {path.name: path for path in sources}
    for header, beginnings in POINTS.items():
        names = [name for name in left if name.startswith(tuple(beginnings.split("|")))]
        files = [left.pop(name) for name in names]
        listed = subprocess.run(
            ["sh", TESTS / "crash/points-in-sources.sh", *files], capture_output=True, check=True
        )
        (place / header).write_bytes(listed.stdout)
    return place


def _build(built: Path, work: Path, programs: list[str], file: str, before: str, after: str) -> Path:
    text = (REPOSITORY / "core/src" / file).read_text()
    assert before in text, f"{file} has no {before!r} any more"
    (work / file).write_text(text.replace(before, after))
    objects = [path for path in built.glob("*.o") if path.stem != Path(file).stem]
    wrapped = ["-Wl,--wrap=syscall"] if "harness/endless_sleeps.c" in programs else []
    tests = [TESTS / one for one in programs]
    _gcc(
        f"-I{built}",
        *INCLUDES,
        work / file,
        *tests,
        *objects,
        *wrapped,
        "-lpthread",
        "-o",
        "test",
        where=work,
    )
    return work / "test"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_recovery_with_a_defect_fails_its_test_of_two_deaths(built, tmp_path, defect):
    program = _build(built, tmp_path, *DEFECTS[defect])
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode != 0, f"{defect}: not noticed\n{done.stdout}"
    assert "no second one died" not in done.stderr  # it is the defect that was seen
    print(f"{defect}: {done.stderr.strip().splitlines()[-3:]}")
