# SPDX-License-Identifier: Apache-2.0
"""Count instructions of the compiled part, allocations and system calls of the hot paths for each message.

callgrind counts them, so neither other processes nor the clock change the result.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from speed.loops import PARTS

LOOPS = Path(__file__).with_name("loops.py")
COUNT = 2000  # messages in a part
# Functions that make system calls. Not the clock: without valgrind it is read from memory.
CALLS = {
    "syscall",
    "fstat",
    "fstat64",
    "stat",
    "open",
    "open64",
    "openat",
    "openat64",
    "close",
    "read",
    "write",
    "pread64",
}
CALLS |= {
    "pwrite64",
    "fcntl",
    "fcntl64",
    "munmap",
    "nanosleep",
    "clock_nanosleep",
    "sched_yield",
    "getpid",
    "getppid",
}
# The number of these calls depends on the duration of the profile and so on the load of the machine.
CLOCK = "slr_tsc_clock_calibrate"
ALLOCATORS = {"malloc", "calloc", "realloc", "mmap", "posix_memalign", "aligned_alloc"}
NAMED = re.compile(r"(\w+)=\((\d+)\)(?: (.*))?")


@dataclass(frozen=True)
class Cost:
    instructions: float
    allocations: float
    system_calls: float


def measure(place: Path, root: Path, environment: dict[str, str]) -> dict[str, Cost]:
    """Return the costs of each part for one message."""
    out = place / "callgrind"
    command = ["valgrind", "--tool=callgrind", "--dump-before=check_name"]
    command += [f"--callgrind-out-file={out}", sys.executable, "-P", str(LOOPS), str(root), str(COUNT)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    dumps = sorted(place.glob("callgrind.*"), key=lambda path: int(path.suffix[1:]))
    return {part: cost(path) for part, path in zip(PARTS, dumps[-len(PARTS) :], strict=True)}


def cost(dump: Path) -> Cost:
    ours, allocations, system_calls = 0, 0, 0
    names: dict[tuple[str, str], str] = {}
    here = function = called = ""
    inclusive = False  # the line after calls= is the cost of the callee
    for line in dump.read_text().splitlines():
        if line.startswith("calls="):
            times = int(line[6:].split()[0])
            allocations += times if called in ALLOCATORS else 0
            system_calls += times if called in CALLS and "/_native" in here else 0
            inclusive = True
        elif found := NAMED.match(line):
            key, number, name = found.groups()
            kind = {"cob": "ob", "cfn": "fn"}.get(key, key)
            name = names.setdefault((kind, number), name or "")
            here, called = (name if key == "ob" else here), (name if key == "cfn" else called)
            function = name if key == "fn" else function
        elif line[:1].isdigit() or line[:1] in "+-*":
            costs = line.split()
            counts = (
                "/_native" in here and not function.startswith(CLOCK) and not inclusive and len(costs) > 1
            )
            ours += int(costs[1]) if counts else 0
            inclusive = False
    return Cost(ours / COUNT, allocations / COUNT, system_calls / COUNT)
