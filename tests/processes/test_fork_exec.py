# SPDX-License-Identifier: Apache-2.0
"""Promise 14: exec releases participation; a forked child gets ForkedHandle and prolongs nobody's life."""

import os
import signal

import pytest

import slipring
from support.waiting import eventually

SMALL = {"capacity": 4096, "slots": 16}

HANDLES = """
    import os, signal
    small = {"capacity": 4096, "slots": 16}
    pub = bus.publisher("t", sender="p", writers="one", delivery="reliable", **small)
    sub = bus.subscriber("t")
    member = bus.join("chat", sender="m", **small)
    cursor = bus.subscriber("c", cursor="place")
    bus.create("c", delivery="reliable", **small)
    assert cursor.recv(timeout=0) is None
"""


def test_exec_releases_the_old_participation(bus, processes):
    child = processes.start(
        HANDLES
        + """
    import sys
    say("holding")
    hear()
    code = "import sys; print(repr('new program'), flush=True); sys.stdin.read()"
    os.execv(sys.executable, [sys.executable, "-c", code])
    """
    )
    child.expect("holding")
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    child.say("exec")
    child.expect("new program")
    with bus.publisher("t") as pub:
        pub.send_many([b"x"] * 100, timeout=0)
    bus.subscriber("c", cursor="place").close()
    assert child.alive


def test_every_use_of_an_inherited_handle_in_a_forked_child_is_an_error(processes):
    child = processes.start(
        HANDLES
        + """
    import asyncio
    uses = {
        "send": lambda: pub.send(b"x"),
        "send_many": lambda: pub.send_many([b"x"]),
        "loan": lambda: pub.loan(8).__enter__(),
        "wait_for_subscribers": lambda: pub.wait_for_subscribers(1, 0),
        "recv": lambda: sub.recv(0),
        "recv_many": lambda: sub.recv_many(),
        "recv_batch": lambda: sub.recv_batch(),
        "recv_into": lambda: sub.recv_into(bytearray(9), 0),
        "view": lambda: sub.view(0).__enter__(),
        "iteration": lambda: next(iter(sub)),
        "arecv": lambda: asyncio.run(sub.arecv(0)),
        "seek": lambda: sub.seek("new"),
        "commit": lambda: cursor.commit(),
        "wait": lambda: slipring.wait([sub], 0),
        "member send": lambda: member.send(b"x"),
        "member recv": lambda: member.recv(0),
    }
    pub.send(b"before")
    pid = os.fork()
    if pid == 0:
        outcome = {}
        for name, use in uses.items():
            try:
                use()
                outcome[name] = "worked"
            except slipring.ForkedHandle:
                pass
            except Exception as error:
                outcome[name] = repr(error)
        say(outcome)
        os._exit(0)
    os.waitpid(pid, 0)
    pub.send(b"after")
    say([m.body for m in sub.recv_many(9)])
    """
    )
    child.expect({})
    child.expect([b"before", b"after"])
    child.join()


@pytest.mark.parametrize(
    "ending", ["os._exit(0)", "sys.exit(0)", "bus.close(); sys.exit(0)", "del pub, sub; sys.exit(0)"]
)
def test_the_end_of_a_forked_child_does_not_end_its_parents_participation(bus, processes, ending):
    child = processes.start(HANDLES + """
    import sys
    pid = os.fork()
    if pid == 0:
        try:
            exec(ending)
        except slipring.ForkedHandle:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    say("child ended")
    hear()
    pub.send(b"parent lives")
    say(sub.recv().body)
    hear()
    """, ending=ending)  # fmt: skip
    child.expect("child ended")
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    with pytest.raises(slipring.Busy):
        bus.subscriber("c", cursor="place")
    child.say("go on")
    child.expect(b"parent lives")


LINGER = {
    "os.fork": """
    if os.fork() == 0:
        say("child", os.getpid())
        signal.pause()
    """,
    "multiprocessing": """
    import multiprocessing
    def linger():
        say("child", os.getpid())
        signal.pause()
    multiprocessing.get_context("fork").Process(target=linger).start()
    """,
    "subprocess that keeps descriptors": """
    import subprocess, sys
    code = "import os, signal; print(('child', os.getpid()), flush=True); signal.pause()"
    subprocess.Popen([sys.executable, "-c", code], close_fds=False)
    """,
}


@pytest.mark.parametrize("how", LINGER)
def test_a_child_does_not_prolong_the_life_of_its_killed_parent(bus, processes, how):
    parent = processes.start(
        HANDLES
        + LINGER[how]
        + """
    signal.pause()
    """
    )
    word, pid = parent.hear()
    assert word == "child"
    with pytest.raises(slipring.Busy):
        bus.publisher("t")
    parent.kill()
    open(f"/proc/{pid}/stat").close()  # the child lives
    with bus.publisher("t") as pub:
        pub.send_many([b"x"] * 100, timeout=0)
    bus.subscriber("c", cursor="place").close()
    assert bus.stats("t")["publishers"] == []
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: gone(pid), "the end of the orphan")


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_forked_child_may_open_handles_of_its_own(processes):
    child = processes.start(
        HANDLES
        + """
    if os.fork() == 0:
        own = slipring.Bus("test", root=root)
        mine = own.subscriber("t", start="oldest")
        say("child ready")
        say(mine.recv().body)
        os._exit(0)
    assert pub.wait_for_subscribers(2)
    pub.send(b"from the parent")
    os.wait()
    say(sub.recv().body)
    """
    )
    child.expect("child ready")
    child.expect(b"from the parent")
    child.expect(b"from the parent")
    child.join()


def test_a_bus_may_be_used_in_a_forked_child_only_through_a_new_one(processes):
    child = processes.start(
        HANDLES
        + """
    if os.fork() == 0:
        try:
            bus.publisher("other", **small).send(b"x")
            say("worked")
        except slipring.ForkedHandle:
            say("refused")
        os._exit(0)
    os.wait()
    """
    )
    assert child.hear() in ("worked", "refused")
    child.join()


def test_a_fork_while_another_thread_waits_harms_neither(processes):
    child = processes.start(
        HANDLES
        + """
    import threading
    got = []
    thread = threading.Thread(target=lambda: got.append(sub.recv().body))
    thread.start()
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            try:
                pub.send(b"x")
            except slipring.ForkedHandle:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    pub.send(b"x")
    thread.join()
    say(got)
    """
    )
    child.expect([b"x"])
    child.join()


def test_a_fork_while_another_thread_copies_leaves_the_child_an_error_and_no_wait(processes):
    child = processes.start(
        """
    import os, threading
    pub = bus.publisher("t", capacity="64MiB")
    sub = bus.subscriber("t", start="oldest")
    body, over = bytes(16 << 20), threading.Event()

    def copy():
        while not over.is_set():
            pub.send(body)
            sub.recv_batch(10)

    threads = [threading.Thread(target=copy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        pid = os.fork()
        if pid == 0:
            refused = 0
            for use in (lambda: pub.send(b"x"), lambda: sub.recv(0)):
                try:
                    use()
                except slipring.ForkedHandle:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    over.set()
    for thread in threads:
        thread.join()
    say("done")
    """
    )
    child.expect("done")
    child.join()


INSIDE = {
    "a member": """
    member = bus.join("chat", sender="m", capacity=4096, slots=16)
    other = bus.join("chat", sender="o")
    inside = [lambda: member.send(b"x", timeout=None), member.recv, lambda: other.send(b"x", timeout=None), other.recv]
    uses = [lambda: member.send(b"x"), lambda: member.recv(0), lambda: member.recv_many(1), lambda: other.recv(1)]
    closing = [member, other]
    """,
    "cells": """
    import numpy
    cells = bus.cells("c", dtype="f8", shape=(1 << 18,))
    writer, reader = cells.writer(), cells.reader()
    value = numpy.zeros(1 << 18)
    def read():
        reader.latest(again=True)
        reader.snapshot()
    inside = [lambda: writer.put(value), read]
    uses = [lambda: writer.put(value), reader.latest, reader.snapshot, lambda: writer.slot().__enter__()]
    closing = [writer, reader]
    """,
}


@pytest.mark.parametrize("handles", INSIDE)
def test_a_fork_while_threads_are_inside_leaves_the_child_an_error_and_no_wait(processes, handles):
    """In put, latest, send and recv: the child raises, and can close."""
    child = processes.start(
        INSIDE[handles]
        + """
    import os, threading
    over = threading.Event()

    def use_for_ever(use):
        while not over.is_set():
            use()

    for use in inside:
        threading.Thread(target=use_for_ever, args=[use], daemon=True).start()
    for _ in range(60):
        pid = os.fork()
        if pid == 0:
            refused = 0
            for use in uses:
                try:
                    use()
                except slipring.ForkedHandle:
                    refused += 1
            for one in closing:
                one.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == len(uses)
    over.set()
    say("done")
    os._exit(0)
    """
    )
    child.expect("done")
    child.join()


def test_a_forked_child_gets_nothing_from_the_inbox_of_an_inherited_member(processes):
    child = processes.start(
        """
    import os
    ann, bob = (bus.join("chat", sender=name, capacity=4096, slots=16) for name in ("ann", "bob"))
    for _ in range(10):
        bob.send(b"from bob")
    try:
        while True:
            ann.send(b"from ann", timeout=0)
    except slipring.Full:  # bob has read nothing
        assert ann.stats()["inbox"] == 10
    pid = os.fork()
    if pid == 0:
        try:
            ann.recv(0)
        except slipring.ForkedHandle:
            os._exit(7)
        os._exit(1)
    say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    say(len(ann.recv_many(100)))
    """
    )
    child.expect(7)
    child.expect(10)
    child.join()
