# SPDX-License-Identifier: Apache-2.0
"""Promise 15: several threads on one handle, whatever Python code runs inside a call of one of them: an argument's own,
a signal handler's. A deadlock would hold the GIL, so each is tried in a process of its own."""

import pytest

# Sends a large body, for which the GIL is released, as soon as another thread is between entering the publisher and
# sending: there, anybody's code may run.
CROWDED = """
    import threading, time
    pub = bus.publisher("t", capacity="64MiB", writers=writers)
    sub = bus.subscriber("t")
    large, entered, over = bytes(24 << 20), threading.Event(), threading.Event()

    def copy():
        while not over.is_set():
            if entered.wait(0.1):
                entered.clear()
                pub.send(large)

    class Slow:
        def __float__(self):
            entered.set()
            time.sleep(0.001)  # lets the other one in
            return 1.0
"""


@pytest.mark.parametrize("writers", ["one", "many"])
@pytest.mark.parametrize("size", [100, 40000])
def test_what_an_argument_runs_lets_no_other_thread_into_the_same_send(processes, writers, size):
    child = processes.start(
        CROWDED
        + """
    thread = threading.Thread(target=copy)
    thread.start()
    sequences = []
    for number in range(40):
        sequences.append(pub.send(bytes([number]) * size, type=f"type {number}", timeout=Slow()))
    over.set()
    thread.join()
    assert len(set(sequences)) == 40, sequences
    bus.close()
    say("done")
    """,
        writers=writers,
        size=size,
    )
    child.expect("done")
    child.join()


def test_what_a_signal_handler_runs_lets_no_other_thread_into_the_same_recv(processes):
    child = processes.start(
        """
    import os, signal, threading, time
    pub = bus.publisher("t", capacity="64MiB", delivery="reliable")
    sub = bus.subscriber("t")
    turn, taken = threading.Event(), []

    def handler(number, frame):
        turn.set()  # the other thread drains, without the GIL
        time.sleep(0.002)

    def drain():
        while len(taken) < 30:
            turn.wait()
            turn.clear()
            taken.append(sub.recv_batch(65536).num_rows)

    signal.signal(signal.SIGUSR1, handler)
    thread = threading.Thread(target=drain)
    thread.start()
    body, got = bytes(40000), 0
    def strike():
        while len(taken) < 30:
            pub.send_many([body] * 200)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            time.sleep(0.003)
        pub.send(b"end")
        pub.send(b"end")
    striker = threading.Thread(target=strike)
    striker.start()
    while (message := sub.recv(timeout=0.5)) is not None:
        assert message.body == body or message.body == b"end"
        got += 1
    striker.join()
    turn.set()
    thread.join()
    got += len(sub.recv_many(10**6))
    assert sub.received == got + sum(taken) and sub.lost == 0
    say("done")
    """
    )
    child.expect("done")
    child.join()


def test_an_interrupt_during_iteration_is_not_taken_for_the_end(processes):
    child = processes.start(
        """
    import signal
    sub = bus.subscriber("t")

    def handler(number, frame):
        sub.close()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    say("ready")
    try:
        for message in sub:
            pass
        say("ended")
    except KeyboardInterrupt:
        say("interrupted")
    """
    )
    child.expect("ready")
    child.wait_until_asleep()
    child.signal(2)
    child.expect("interrupted")
    child.join()
