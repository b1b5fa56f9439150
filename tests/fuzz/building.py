# SPDX-License-Identifier: Apache-2.0
"""Builds fuzz targets. Objects are kept in build-fuzz under a hash of all that went into them: a source with a
planted defect costs only what includes it."""

import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = REPOSITORY / "core/src"
TARGETS = REPOSITORY / "core/tests/fuzz"
FAULTS = REPOSITORY / "core/tests/faults"
CLOCK = REPOSITORY / "core/tests/a_stepped_clock_disturbs_nobody.c"
HARNESS = REPOSITORY / "core/tests/harness"
MESON = REPOSITORY / "core/tests/meson.build"
BUILD = REPOSITORY / "build-fuzz"
SANITIZERS = "address,undefined"
FLAGS = [
    *["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"],
    f"-fsanitize=fuzzer-no-link,{SANITIZERS}",
    "-D__SANITIZE_ADDRESS__=1",  # as gcc says it: copies by words that the sanitizer can see
    '-DSLR_ATOMICS_SHIM="shim.h"',
    *["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wstrict-prototypes", "-Werror"],
]
SHARED = ("image", "guards", "topic_image")


def targets() -> list[str]:
    texts = {path.stem: path.read_text() for path in TARGETS.glob("*.c")}
    return sorted(name for name, text in texts.items() if "LLVMFuzzerTestOneInput" in text)


def build(target: str, sources: Path = SOURCES, name: str = "") -> Path:
    """The program of a target over the core in ``sources``; ``name`` tells a defective one apart."""
    if shutil.which("clang") is None:
        raise RuntimeError("no clang: run tools/test-tools.sh, or apt-get install clang libclang-rt-14-dev")
    program = BUILD / "programs" / (f"{target}-{name}" if name else target)
    program.parent.mkdir(parents=True, exist_ok=True)
    parts = [*sources.glob("*.c"), *(TARGETS / f"{part}.c" for part in (*SHARED, target))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda part: _compile(part, sources), sorted(parts)))
    _run(
        "clang",
        f"-fsanitize=fuzzer,{SANITIZERS}",
        "-Wl,--wrap=mmap,--wrap=munmap",
        *map(str, objects),
        *("-lpthread", "-o", str(program)),
    )
    return program


PLAIN = ("gcc", "-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-D_FILE_OFFSET_BITS=64")


def build_injector(sources: Path = SOURCES, name: str = "") -> Path:
    """core/tests/faults, linked so that each system call can fail."""
    [listed] = re.findall(r"^faulty_calls = \[(.*?)\]", MESON.read_text(), re.MULTILINE | re.DOTALL)
    wraps = ",".join(f"--wrap={call}" for call in re.findall(r"\w+", listed))
    parts = [*FAULTS.glob("*.c"), HARNESS / "process.c", HARNESS / "topic.c"]
    return build_plain(f"faults-{name}", parts, sources, f"-Wl,{wraps}")


def build_clock(sources: Path = SOURCES, name: str = "") -> Path:
    """core/tests/a_stepped_clock_disturbs_nobody.c"""
    parts = [CLOCK, HARNESS / "process.c", HARNESS / "topic.c"]
    return build_plain(f"clock-{name}", parts, sources, "-Wl,--wrap=clock_gettime")


def build_plain(name: str, parts: list[Path], sources: Path = SOURCES, *link: str) -> Path:
    """A program over the core as gcc makes it."""
    program = BUILD / "programs" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(
            pool.map(lambda part: _compile(part, sources, PLAIN), sorted([*sources.glob("*.c"), *parts]))
        )
    _run("gcc", *map(str, objects), *link, "-lpthread", "-o", str(program))
    return program


def _compile(part: Path, sources: Path, compiler: tuple[str, ...] = ("clang", *FLAGS)) -> Path:
    folders = (part.parent, sources, TARGETS, HARNESS, REPOSITORY / "core/include")
    key = hashlib.sha256(" ".join(compiler).encode())
    for name in sorted(_included(part.name, folders)):
        key.update(name.encode() + _text(name, folders).encode())
    made = BUILD / "objects" / f"{part.stem}-{key.hexdigest()[:16]}.o"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        unfinished = made.with_suffix(f".{os.getpid()}")
        include = [f"-I{folder}" for folder in folders[1:]]
        lenient = [] if sources == SOURCES else ["-Wno-error"]  # a check taken away leaves unused things
        _run(*compiler, *lenient, *include, "-c", str(part), "-o", str(unfinished))
        unfinished.rename(made)
    return made


def _included(name: str, folders: tuple[Path, ...]) -> set[str]:
    """The file and all of ours that it includes, and what they include."""
    found, waiting = set(), [name, "shim.h"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += re.findall(r'^#include "(.*)"', _text(name, folders), re.MULTILINE)
    return found


@cache
def _text(name: str, folders: tuple[Path, ...]) -> str:
    for folder in folders:
        if (folder / name).exists():
            return (folder / name).read_text()
    raise LookupError(f"{name} is in none of {folders}")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr[-4000:]}")
