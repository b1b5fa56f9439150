# SPDX-License-Identifier: Apache-2.0
"""Liveness belongs to one process: children and executed programs neither prolong nor end it (promise 14)."""

import pytest

FORKS = {
    "os.fork": "fork = os.fork",
    "the C library's fork": "import ctypes; fork = ctypes.PyDLL(None).fork",
}


@pytest.mark.parametrize("how", FORKS)
def test_forked_child_does_not_prolong_its_parents_life(bus, is_free, processes, orphan, how):
    child = processes.start(
        f"""
        import os, signal
        {FORKS[how]}
        pub = bus.publisher("t", writers="one", delivery="reliable", capacity=4096, slots=16)
        sub = bus.subscriber("t")
        loan = pub.loan(8)
        loan.__enter__()
        ready, up = os.pipe()
        pid = fork()
        if pid == 0:
            os.write(up, b"!")             # the child runs: what fork() does in it is done
            while True:
                signal.pause()
        os.read(ready, 1)
        say(pid)
        hear()
        """
    )
    orphan(child.hear())
    assert not is_free()
    child.kill()
    assert is_free(), "the child keeps its dead parent's place"
    with bus.publisher("t") as pub:
        for _ in range(100):  # neither the hold of the dead subscriber nor the loan remains
            pub.send(b"m", timeout=60)


@pytest.mark.parametrize("how", FORKS)
def test_end_of_a_forked_child_does_not_end_its_parents_participation(bus, is_free, processes, how):
    child = processes.start(
        f"""
        import os, sys
        {FORKS[how]}
        pub = bus.publisher("t", writers="one", delivery="reliable", capacity=4096, slots=16)
        sub = bus.subscriber("t")
        for _ in range(3):
            pid = fork()
            if pid == 0:
                sys.exit(0)            # with every finalizer an interpreter has
            os.waitpid(pid, 0)
        say("forked")
        hear()
        for number in range(15):
            pub.send(b"%d" % number, timeout=0)
        try:
            pub.send(b"over", timeout=0)
        except slipring.Full:
            say([m.body for m in sub.recv_many(100)])
        """
    )
    child.expect("forked")
    assert not is_free()
    stats = bus.stats("t")
    assert [entry["alive"] for entry in stats["publishers"] + stats["readers"]] == [True, True]
    child.say("go")
    assert child.hear() == [b"%d" % n for n in range(15)]
    child.join()
    assert is_free()


@pytest.mark.parametrize("how", FORKS)
def test_handle_used_in_a_forked_child_is_an_error_there_and_harmless_to_the_parent(bus, processes, how):
    child = processes.start(
        f"""
        import os
        {FORKS[how]}
        pub = bus.publisher("t", delivery="reliable")
        sub = bus.subscriber("t")
        cur = bus.subscriber("t", cursor="c")
        loan = pub.loan(8)
        view = loan.__enter__()
        calls = dict(
            send=lambda: pub.send(b"m"), many=lambda: pub.send_many([b"m"]),
            loan=lambda: pub.loan(8).__enter__(), recv=lambda: sub.recv(timeout=0),
            commit_loan=lambda: loan.__exit__(None, None, None),
            recv_many=lambda: sub.recv_many(10), view=lambda: sub.view(timeout=0).__enter__(),
            seek=lambda: sub.seek("oldest"), commit=lambda: cur.commit(),
            wait=lambda: slipring.wait([sub], timeout=0),
            subscribers=lambda: pub.wait_for_subscribers(timeout=0),
        )
        pid = fork()
        if pid == 0:
            outcome = dict()
            for name, call in calls.items():
                try:
                    call()
                    outcome[name] = None
                except slipring.SlipringError as error:
                    outcome[name] = type(error).__name__
            say(outcome)
            pub.close(), sub.close(), cur.close(), bus.close()
            own = slipring.Bus("test", root=root)
            with own.publisher("t") as mine:
                say(mine.send(b"from the child"))
            os._exit(0)
        os.waitpid(pid, 0)
        view[:] = b"loaned.."
        loan.__exit__(None, None, None)
        pub.send(b"from the parent")
        say([(m.seq, m.body) for m in sub.recv_many(10)])
        hear()
        """
    )
    outcome = child.hear()
    assert set(outcome.values()) == {"ForkedHandle"}, outcome
    child.expect(1)
    assert child.hear() == [(0, b"loaned.."), (1, b"from the child"), (2, b"from the parent")]


def test_memory_held_at_a_fork_is_whole_or_refused_in_the_child_and_never_kills_it(bus, processes):
    child = processes.start(
        """
        import os
        pub = bus.publisher("t")
        sub = bus.subscriber("t")
        pub.send(b"held")
        with sub.view() as message, pub.loan(8) as view:
            view[:] = b"parent.."
            pid = os.fork()
            if pid == 0:
                try:
                    outcome = bytes(message.body)
                except ValueError:
                    outcome = "refused"
                try:
                    view[:] = b"child..."
                except ValueError:
                    pass
                say(outcome)
                os._exit(0)
            say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), bytes(message.body))
        say(sub.recv(timeout=60).body in (b"parent..", b"child..."))
        """
    )
    assert child.hear() in (b"held", "refused")
    child.expect((0, b"held"))
    child.expect(True)
    child.join()


def test_fork_while_another_thread_creates_and_removes_topics_leaves_the_bus_usable(bus, processes, orphan):
    child = processes.start(
        """
        import os, signal, threading
        stop = threading.Event()
        def create_and_remove():
            while not stop.is_set():
                bus.create("other", capacity="1MiB")
                bus.remove("other")
        thread = threading.Thread(target=create_and_remove)
        thread.start()
        pids = []
        for _ in range(20):
            pids.append(os.fork())
            if pids[-1] == 0:
                while True:
                    signal.pause()
        stop.set()
        thread.join()
        say(pids)
        """
    )
    for pid in child.hear():
        orphan(pid)
    child.join()
    bus.publisher("t").send(b"m")
    bus.remove("t")
