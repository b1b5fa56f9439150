# SPDX-License-Identifier: Apache-2.0
"""Kill a process after a given number of machine instructions of one call.

`doom` runs in a process of the fork server. It forks a process that prepares the call, asks to be traced and stops
right before the call. `doom` continues it over a number of system calls first: opening takes 100,000 instructions, most
of them in Python. Then it continues it into the compiled part, from there by single instructions, and kills it.
"""

import ctypes
import functools
import os
import platform
import signal
from collections.abc import Callable

import slipring
from slipring._bus.cells import cells  # noqa: F401 - else the first call imports them, step by step
from storm import bodies

PTRACE_TRACEME, PTRACE_PEEKUSER, PTRACE_SINGLESTEP, PTRACE_SYSCALL = 0, 3, 9, 24
RIP = 16 * 8  # offset of the instruction pointer in struct user
COMPLETED = 3  # exit code: the call returned before the last instruction to be counted
LIFE = 7
SIZE = 100

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


def doom(root: str, call: str, number: int, system_calls: int, instructions: int) -> None:
    """Exit with 0 if the process was killed, with COMPLETED if its call had returned."""
    os.sched_setaffinity(
        0, [min(os.sched_getaffinity(0))]
    )  # tracer and traced process take turns: one CPU is faster
    pid = os.fork()
    if pid == 0:
        act = prepare(slipring.Bus("test", root=root), call, number)
        _trace(PTRACE_TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        act()
        os._exit(COMPLETED)
    status = _follow(pid, system_calls, instructions)
    if os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    elif status:
        os._exit(os.waitstatus_to_exitcode(status))


def _follow(pid: int, system_calls: int, instructions: int) -> int:
    begin, end = _native_code()
    _, status = os.waitpid(pid, 0)

    def go_on(request: int) -> bool:
        nonlocal status
        if os.WIFSTOPPED(status):
            _trace(request, pid)
            _, status = os.waitpid(pid, 0)
        return os.WIFSTOPPED(status)

    for _ in range(2 * system_calls):  # a stop at the entry and one at the exit
        go_on(PTRACE_SYSCALL)
    while go_on(PTRACE_SINGLESTEP) and not begin <= _libc.ptrace(PTRACE_PEEKUSER, pid, RIP, None) < end:
        continue
    for _ in range(instructions):
        go_on(PTRACE_SINGLESTEP)
    return status


def _native_code() -> tuple[int, int]:
    """Return the address range of the compiled part, which a forked process shares. Not on x86-64: all addresses."""
    if platform.machine() != "x86_64":
        return -(2**63), 2**63
    with open("/proc/self/maps") as maps:
        spans = [line.split()[0].split("-") for line in maps if "_native" in line]
    return int(spans[0][0], 16), int(spans[-1][1], 16)


def _trace(request: int, pid: int) -> None:
    if _libc.ptrace(request, pid, None, None):
        raise OSError(ctypes.get_errno(), f"ptrace({request}) failed: is tracing forbidden here?")


def prepare(bus, call: str, number: int) -> Callable[[], object]:
    """Open the handles that the call needs. The message of trial `number` is the body of (LIFE, number)."""
    body = bodies.make(bodies.identity(LIFE, number), SIZE)
    if call in PUBLISHING:
        return functools.partial(PUBLISHING[call], bus.publisher("t", sender="doomed"), body)
    if call in SUBSCRIBING:
        return functools.partial(SUBSCRIBING[call], bus.subscriber("t", start="oldest"))
    if call in WRITING_CELLS:
        return functools.partial(WRITING_CELLS[call], bus.cells("c").writer(), number)
    if call in READING_CELLS:
        return functools.partial(READING_CELLS[call], bus.cells("c").reader())
    return functools.partial({**OPENING, **OPENING_CELLS}[call], bus)


def _lend(pub, body: bytes) -> None:
    with pub.loan(len(body)) as view:
        view[:] = body


def _abort(pub, body: bytes) -> None:
    loan = pub.loan(len(body))
    loan.__enter__()[:] = body
    loan.__exit__(ValueError, ValueError(), None)


def _hold(sub) -> None:
    with sub.view(timeout=0):
        pass


def _commit(bus) -> None:
    with bus.subscriber("t", cursor="c", start="oldest") as sub:
        sub.recv_many(100)
        sub.commit()


def element(number: int) -> bytes:
    return number.to_bytes(8, "little") * 12


def _fill(writer, number: int) -> None:
    with writer.slot() as view:
        view[:] = element(number)


def _create_and_remove_cells(bus) -> None:
    bus.cells("other", size=96)
    bus.remove("other")


def _create_and_remove(bus) -> None:
    bus.create("other", capacity=4096, slots=16)
    bus.remove("other")


PUBLISHING = {
    "send": lambda pub, body: pub.send(body),
    "send_many": lambda pub, body: pub.send_many([body]),
    "loan": _lend,
    "abort": _abort,
    "close": lambda pub, body: pub.close(),
}
SUBSCRIBING = {
    "recv": lambda sub: sub.recv(timeout=0),
    "recv_many": lambda sub: sub.recv_many(100),
    "view": _hold,
    "seek": lambda sub: sub.seek("oldest"),
    "close subscriber": lambda sub: sub.close(),
}
OPENING = {
    "open publisher": lambda bus: bus.publisher("t"),
    "open subscriber": lambda bus: bus.subscriber("t", start="oldest"),
    "open lossy subscriber": lambda bus: bus.subscriber("t", lossy=True),
    "open, commit and close cursor": _commit,
    "create and remove": _create_and_remove,
}
WRITING_CELLS = {
    "put": lambda writer, number: writer.put(element(number)),
    "fill": _fill,
    "close writer": lambda writer, number: writer.close(),
}
READING_CELLS = {
    "snapshot": lambda reader: reader.snapshot(),
    "latest": lambda reader: reader.latest(),
    "close reader": lambda reader: reader.close(),
}
OPENING_CELLS = {
    "open writer": lambda bus: bus.cells("c").writer(),
    "open reader": lambda bus: bus.cells("c").reader(),
    "create and remove cells": _create_and_remove_cells,
}
