# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F821  support/child.py defines bus, root, say and slipring
"""Make each system call of each operation of a bus fail in turn, and report the number of faults and wrong outcomes.

test_faults.py runs it in a process of its own with fault_injector.c preloaded.
"""

import contextlib
import ctypes
import errno
import os

import numpy  # noqa: F401  loaded before anything fails

injector = ctypes.CDLL(None)
injector.slipring_fault_disarm.restype = ctypes.c_char_p
ERRORS = [errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES, errno.EINTR]
MOST_CALLS = 500
RING = {"capacity": 4096, "slots": 16, "delivery": "reliable"}


def close(handle) -> None:
    handle.close()


def cells_at_work() -> None:
    cells = bus.cells("c", dtype="f8", depth=2)
    with cells.writer() as writer, cells.reader() as reader:
        writer.put(1.5)
        reader.latest()


def frames_at_work() -> None:
    frames = bus.frames("f", shape=(8, 8), buffers=2)
    with frames.publisher() as pub, frames.subscriber() as sub:
        with pub.frame() as array:
            array[:] = 1
        with sub.recv(timeout=0) as frame:
            assert frame is None or frame.array[0, 0] == 1


def call_once() -> None:
    with bus.server("calc") as server:
        server.method(abs)
        server.start()
        with bus.client("calc", timeout=20) as client:
            assert client.call("abs", -1) == 1


def exchange() -> None:
    with bus.publisher("t") as pub, bus.subscriber("t") as sub:
        pub.send(b"m", timeout=0)
        assert sub.recv(timeout=0).body == b"m"
        slipring.wait([sub], timeout=0.001)
        sub.recv(timeout=0.001)


def drop_cursor() -> None:
    bus.subscriber("t", cursor="c").close()
    bus.drop_cursor("t", "c")


# the operation; the files that a fault in the middle may leave, which the next attempt uses
OPERATIONS = {
    "open a bus": (lambda: slipring.Bus("other", root=root).close(), {"other"}),
    "create": (lambda: bus.create("n", **RING), set()),
    "remove": (lambda: bus.remove("n", missing_ok=True), {"n.ring", "n.readers"}),
    "publisher": (lambda: close(bus.publisher("t")), set()),
    "publisher of a new topic": (lambda: close(bus.publisher("p", **RING)), {"p.ring", "p.readers"}),
    "subscriber": (lambda: close(bus.subscriber("t")), set()),
    "early subscriber": (lambda: close(bus.subscriber("missing")), set()),
    "cursor": (drop_cursor, set()),
    "join": (lambda: close(bus.join("t", "me")), set()),
    "send, receive and wait": (exchange, set()),
    "cells": (cells_at_work, {"c.cells"}),
    "frames": (frames_at_work, {"f.ring", "f.readers", "f.frames"}),
    "server and client": (call_once, None),
    "stats": (lambda: bus.stats("t"), set()),
    "topics": (lambda: bus.topics(), set()),
    "cursors": (lambda: bus.cursors("t"), set()),
    "doctor": (lambda: bus.doctor(), set()),
    "repair": (lambda: bus.doctor(repair=True), set()),
}
WAITING = {"send, receive and wait", "server and client"}


def state() -> tuple:
    descriptors = len(os.listdir("/proc/self/fd"))
    with open("/proc/self/maps") as maps:
        mappings = sum(root in line for line in maps)
    stats = bus.stats("t")
    return descriptors, mappings, len(stats["publishers"]), len(stats["readers"])


def files() -> set[str]:
    return {name for place in (root, bus.path) for name in os.listdir(place)}


def judge(error: BaseException | None, code: int, call: str) -> str:
    """Return the fault of an outcome, or "" if it is right."""
    if code == errno.EINTR:
        return "" if error is None else f"EINTR of {call} reaches the caller: {error!r}"
    if error is None:
        return ""  # it succeeded without; trial() checks the result
    if not isinstance(error, slipring.SlipringError):
        return f"{errno.errorcode[code]} of {call} raises {error!r}"
    if os.strerror(code) not in str(error) and not isinstance(error, slipring.Denied):
        return f"{errno.errorcode[code]} of {call} is not named: {error!r}"
    return ""


def attempt(do) -> BaseException | None:
    try:
        do()
    except BaseException as error:  # noqa: BLE001
        return error
    return None


def trial(name: str, n: int, code: int) -> tuple[bool, list[str]]:
    """Return whether there was an n-th call, and the list of wrong outcomes."""
    do, leaves = OPERATIONS[name]
    before, files_before = state(), files()
    injector.slipring_fault_arm(n, code)
    error = attempt(do)
    call = injector.slipring_fault_disarm().decode()
    wrong = [judge(error, code, call)] if call else []
    if not call and error is not None:
        wrong.append(f"without a fault: {error!r}")
    if error is not None:
        error.__traceback__ = None
    if state() != before:
        wrong.append(f"after {errno.errorcode[code]} of {call}: {state()} instead of {before}")
    if error is not None and leaves is not None and not files() - files_before <= leaves:
        wrong.append(f"after {errno.errorcode[code]} of {call}: files {files() - files_before}")
    if call and (again := attempt(do)) is not None:
        wrong.append(f"after {errno.errorcode[code]} of {call} it fails for good: {again!r}")
    tidy()
    return bool(call), [f"{name}, call {n}: {one}" for one in wrong if one]


def tidy() -> None:
    for topic in {"n", "p", "c", "f"} - ({"n"} if current == "remove" else set()):
        with contextlib.suppress(slipring.SlipringError):
            bus.remove(topic, missing_ok=True)
    for service in [topic for topic in bus.topics() if topic.startswith("calc")]:
        bus.remove(service, missing_ok=True)
    if current == "remove":
        bus.create("n", **RING)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(root, "other"))


current = ""
bus.create("t", **RING)
for current, (do, _) in OPERATIONS.items():
    if current == "remove":
        bus.create("n", **RING)
    do()  # imports everything and fills the caches
    tidy()
    faults, wrong = 0, []
    for code in ERRORS:
        n, there = 0, True
        while there and n < MOST_CALLS and len(wrong) < 5:
            there, found = trial(current, n, code)
            wrong += found
            faults += there
            n += there
    say(current, faults, wrong)
    bus.remove("n", missing_ok=True)
say("done")
