# SPDX-License-Identifier: Apache-2.0
"""How long until a fresh process can use it, and until its first message is here? In ms, a bare interpreter taken off.

Fresh interpreters take turns with bare ones, and the figure is the difference of the medians. All are started alike,
without site packages, and find their package by its folder: what an editable install costs, or a full environment,
is nobody's here. Bytecode has been written before. ``imported`` ends when the process has; ``first-message`` when the
one that waited for it has what the fresh process sent.
"""

import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import Figures
from slipring.bench.transport import Receive, Transport

TITLE = "A fresh process: until it has imported, until its first message is here"
FIGURE = "ms"
FURTHER_FIGURES = ("interpreter_ms",)
SIZE = 64
IMPORTS = {
    "slipring": "slipring",
    "pyzmq": "zmq",
    "iceoryx2": "iceoryx2",
    "zenoh": "zenoh",
    "faster-fifo": "faster_fifo",
    "msgq": "msgq",
    "redis-pub-sub": "redis",
    "mp-queue": "multiprocessing.queues",
}
FIRST_MESSAGES = {
    "slipring": "import slipring; slipring.Bus('bench', root=sys.argv[2]).publisher('there').send(bytes(64))",
    "pyzmq": "import zmq; socket = zmq.Context().socket(zmq.PUSH);"
    "socket.connect(f'ipc://{sys.argv[2]}/there.zmq'); socket.send(bytes(64))",
}
FIND_PACKAGE = "import sys; sys.path.insert(0, sys.argv[1]); "
# Four times as long as other samples: a process takes a while.
LONGER, LEAST = 4, 3


def cases(quick: bool) -> list[Case]:
    imports = [Case("startup", name, {"until": "imported"}) for name in IMPORTS]
    messages = [Case("startup", name, {"until": "first-message"}) for name in FIRST_MESSAGES]
    return [imports[0], messages[0]] if quick else imports + messages


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    folder = package_folder(case.transport, place)
    if case.settings["until"] == "imported":
        bare = fresh("pass", folder, place)
        asked = fresh(f"import {IMPORTS[case.transport]}", folder, place)
        return compared(bare, asked, seconds)
    transport = kind(place, SIZE)
    receive = transport.receiver("there")
    bare = fresh("pass", folder, place)
    asked = fresh(FIRST_MESSAGES[case.transport], folder, place, receive)
    figures = compared(bare, asked, seconds)
    transport.close()
    return figures


def package_folder(name: str, place: Path) -> Path:
    if name != "slipring":
        return Path(sysconfig.get_path("purelib"))
    import slipring
    from slipring import _native

    package = Path(slipring.__file__).parent
    native = Path(_native.__file__)
    if native.parent == package:
        return package.parent
    # An editable install keeps the compiled part elsewhere; as installed, both lie together.
    together = place / "installed" / "slipring"
    shutil.copytree(package, together, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(native, together)
    return together.parent


def fresh(program: str, folder: Path, place: Path, until: Receive | None = None) -> Callable[[], float]:
    """Starts a process; ms until it has ended, or until something was received."""
    command = [sys.executable, "-I", "-S", "-c", FIND_PACKAGE + program, str(folder), str(place)]

    def start() -> float:
        begun = perf_counter_ns()
        with subprocess.Popen(command) as process:
            if until is None:
                process.wait()
            else:
                until()
            spent = perf_counter_ns() - begun
        if process.returncode:
            raise ChildProcessError(f"{program!r} ended with {process.returncode}")
        return spent / 1e6

    return start


def compared(bare: Callable[[], float], asked: Callable[[], float], seconds: float) -> Figures:
    asked()
    times: list[tuple[float, float]] = []
    end = time.monotonic() + seconds * LONGER
    while time.monotonic() < end or len(times) < LEAST:
        times.append((bare(), asked()))
    interpreter = median(plain for plain, _ in times)
    return {FIGURE: median(whole for _, whole in times) - interpreter, "interpreter_ms": interpreter}
