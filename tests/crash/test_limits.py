# SPDX-License-Identifier: Apache-2.0
"""Full tables refuse new processes, disturb no attached one, and reuse entries of dead processes (promise 12)."""

import pytest

import slipring
from support.waiting import eventually

pytestmark = pytest.mark.timeout(600)


def idle(processes, opening: str):
    child = processes.start(f"handle = {opening}\nsay('there')\nhear()")
    child.expect("there")
    return child


def test_second_exclusive_publisher_is_refused_and_the_first_is_not_disturbed(bus, processes):
    pub = bus.publisher("t", writers="one", sender="first")
    sub = bus.subscriber("t")
    refused = processes.start(
        """
        for _ in range(20):
            try:
                bus.publisher("t")
                say("accepted")
            except slipring.Busy:
                pass
        say("always refused")
        """
    )
    sent = [pub.send(b"undisturbed") for _ in range(1000)]
    refused.expect("always refused")
    refused.join()
    sent.append(pub.send(b"undisturbed"))
    assert sent == list(range(1001))
    assert [entry["sender"] for entry in bus.stats("t")["publishers"]] == ["first"]
    assert len(sub.recv_many(2000)) == 1001


def test_exclusive_place_of_a_killed_publisher_is_free_at_once(bus, processes):
    for _ in range(10):
        child = idle(processes, "bus.publisher('t', writers='one')")
        with pytest.raises(slipring.Busy):
            bus.publisher("t")
        child.kill()
        bus.publisher("t").close()


def test_reliable_reader_over_the_limit_is_refused_and_nobody_else_notices(bus, processes):
    pub = bus.publisher("t", delivery="reliable", max_readers=2)
    first = bus.subscriber("t")
    second = idle(processes, "bus.subscriber('t')")
    for _ in range(5):
        with pytest.raises(slipring.TooManyReaders):
            bus.subscriber("t")
    pub.send(b"all well")
    assert first.recv(timeout=60).body == b"all well"
    second.kill()
    third = bus.subscriber("t")
    pub.send(b"room again")
    assert third.recv(timeout=60).body == b"room again"
    assert first.recv(timeout=60).body == b"room again"


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_lossy_reader_over_the_limit_receives_everything_without_an_entry(bus, background, delivery):
    pub = bus.publisher("t", delivery=delivery, max_readers=1)
    first = bus.subscriber("t", lossy=True)
    extra = [bus.subscriber("t", lossy=True) for _ in range(5)]
    assert first.stats()["entry"] is not None
    assert [sub.stats()["entry"] for sub in extra] == [None] * 5
    waiting = [background(sub.recv) for sub in extra]
    for call in waiting:
        call.wait_until_asleep()
    pub.send(b"for all")
    assert [call.result().body for call in waiting] == [b"for all"] * 5
    assert first.recv(timeout=60).body == b"for all"
    with pytest.raises(slipring.TooManyReaders), extra[0].view(timeout=0):
        pass
    assert pub.send(b"still well") == 1


def test_publisher_over_the_limit_is_refused_until_one_dies(bus, processes):
    first = bus.publisher("t", max_writers=2)
    second = idle(processes, "bus.publisher('t')")
    with pytest.raises(slipring.TooManyWriters):
        bus.publisher("t")
    first.send(b"undisturbed")
    second.kill()
    bus.publisher("t").send(b"room again")
    assert bus.stats("t")["published"] == 2


@pytest.mark.parametrize("delivery", ["lossy", "reliable"])
def test_two_thousand_short_lived_readers_reuse_entries(bus, processes, delivery):
    """Half of them end without closing a handle, like killed processes. Four use four entries at a time."""
    pub = bus.publisher("t", delivery=delivery, max_readers=4, capacity=4096, slots=16)
    pub.send(b"m")
    child = processes.start(
        """
        import os
        bus.close()
        def live(close):
            sub = slipring.Bus("test", root=root).subscriber("t", start="oldest")
            good = sub.recv(timeout=60).body == b"m" and sub.stats()["entry"] is not None
            if close:
                sub.close()
            os._exit(0 if good else 1)
        codes = []
        for _ in range(500):
            pids = [os.fork() or live(n % 2 == 0) for n in range(4)]
            codes += [os.waitpid(pid, 0)[1] for pid in pids]
        say(len(codes), sum(codes))
        """
    )
    assert child.hear(timeout=600) == (2000, 0)
    child.join()
    assert pub.send(b"goes on", timeout=0) == 1
    with bus.subscriber("t"):
        assert len(bus.stats("t")["readers"]) == 1


def test_two_thousand_short_lived_publishers_reuse_entries(bus, processes):
    sub = bus.subscriber("t")
    child = processes.start(
        """
        import os
        bus.create("t", delivery="reliable", max_writers=4, capacity="64KiB", slots=4096)
        bus.close()
        def live(number):
            pub = slipring.Bus("test", root=root).publisher("t", sender=str(number))
            pub.send(b"m")
            if number % 2:
                pub.close()
            os._exit(0)
        codes = []
        for number in range(0, 2000, 4):
            pids = [os.fork() or live(number + n) for n in range(4)]
            codes += [os.waitpid(pid, 0)[1] for pid in pids]
        say(len(codes), sum(codes))
        """
    )
    assert child.hear(timeout=600) == (2000, 0)
    child.join()
    got = eventually(lambda: sub.recv_many(4096))
    assert sorted(int(m.sender) for m in got) == list(range(2000))
    bus.publisher("t").close()
    assert [entry for entry in bus.stats("t")["publishers"] if not entry["alive"]] == []
