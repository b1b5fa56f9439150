# SPDX-License-Identifier: Apache-2.0
"""Promise 20: Ctrl-C interrupts every wait, and the handle works afterwards."""

import signal

import pytest

WAITS = {
    "recv": "sub.recv()",
    "recv with a time-out": "sub.recv(timeout=1e6)",
    "recv_many": "sub.recv_many(9, timeout=None)",
    "recv_batch": "sub.recv_batch(9, timeout=None)",
    "recv_into": "sub.recv_into(bytearray(99))",
    "view": "sub.view().__enter__()",
    "iteration": "next(iter(sub))",
    "wait": "slipring.wait([sub, slow_reader_elsewhere])",
    "wait on many": "slipring.wait([sub] + [bus.subscriber(f'n{n}') for n in range(150)])",
    "arecv": "asyncio.run(sub.arecv())",
    "async for": "asyncio.run(first())",
    "no topic yet": "bus.subscriber('never').recv()",
    "without an entry": "crowd[-1].recv()",
    "send": "full.send(b'x')",
    "send with a time-out": "full.send(b'x', timeout=1e6)",
    "send_many": "full.send_many([b'x'])",
    "loan": "full.loan(8).__enter__()",
    "wait_for_subscribers": "full.wait_for_subscribers(9)",
    "member recv": "member.recv()",
    "member send": "member.send(b'x')",
}

SCRIPT = """
    import asyncio
    small = {"capacity": 4096, "slots": 16}
    pub = bus.publisher("t", max_readers=4, **small)
    sub, slow_reader_elsewhere = bus.subscriber("t"), bus.subscriber("other")
    crowd = [bus.subscriber("t") for _ in range(6)]
    full = bus.publisher("full", delivery="reliable", **small)
    slow = bus.subscriber("full")
    full.send_many([b"x"] * 15)
    member, silent = bus.join("chat", sender="m", **small), bus.join("chat", sender="s")

    async def first():
        async for message in sub:
            return message

    try:
        while "member send" in name:
            member.send(b"x", timeout=0)
    except slipring.Full:
        pass
    say("waiting")
    try:
        eval(compile(wait, "wait", "eval"))  # eval of text would count the interrupt as unhandled
        say("returned")
    except KeyboardInterrupt:
        say("interrupted")
    pub.send(b"later")
    slow.recv_many(99)
    full.send(b"later", timeout=0)
    got = [m.body for m in sub.recv_many(9)]
    silent.recv_many(99)
    member.send(b"later", timeout=0)
    say(got, slow.recv_many(99)[-1].body, silent.recv_many(99)[-1].body)
"""


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_interrupts_a_wait_and_the_handle_works_on(processes, name):
    child = processes.start(SCRIPT, name=name, wait=WAITS[name])
    child.expect("waiting")
    child.wait_until_asleep()
    child.signal(signal.SIGINT)
    child.expect("interrupted")
    child.expect(([b"later"], b"later", b"later"))
    child.join()


def test_a_signal_with_a_handler_does_not_end_a_wait(bus, processes):
    bus.create("t", capacity=4096)
    child = processes.start("""
        import signal
        handled = []
        signal.signal(signal.SIGUSR1, lambda *_: handled.append(1) or say("handled"))
        sub = bus.subscriber("t")
        say("ready")
        say(sub.recv(timeout=1e6).body, len(handled))
    """)
    child.expect("ready")
    for _ in range(20):
        child.wait_until_asleep()
        child.signal(signal.SIGUSR1)
        child.expect("handled")
    bus.publisher("t", capacity=4096).send(b"x")
    child.expect((b"x", 20))


def test_signals_do_not_extend_a_time_out(processes):
    """A timer interrupts the wait every few milliseconds: restarted afresh each time, it would never end."""
    child = processes.start("""
        import signal, time
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
        bus.create("t", capacity=4096)
        sub, start = bus.subscriber("t"), time.monotonic()
        message = sub.recv(timeout=0.5)
        elapsed = time.monotonic() - start
        signal.setitimer(signal.ITIMER_REAL, 0)
        say(message, elapsed >= 0.499)
    """)
    child.expect((None, True))
    child.join()
