# SPDX-License-Identifier: Apache-2.0
"""Publishers and holders of frames are killed, stopped or forked at any moment (promise 22, invariants 4 and 5)."""

import os
import random
import time

import pytest

import slipring
from support.waiting import eventually

HOLDER = """
    sub = bus.frames("cam").subscriber(start="oldest")
    with sub.recv(60) as frame:
        say("holding", frame.id)
        hear()
"""


@pytest.fixture
def frames(bus):
    return bus.frames("cam", shape=(100, 50), buffers=2)


def send(pub, value):
    with pub.frame() as array:
        array[...] = value


def test_frame_of_a_killed_holder_returns_to_the_pool(frames, processes):
    pub = frames.publisher()
    send(pub, 0)
    children = [processes.start(HOLDER)]
    children[0].expect(("holding", 0))
    send(pub, 1)
    mine = frames.subscriber(start="last")
    with mine.recv(60) as kept:
        assert kept.id == 1
        with pytest.raises(slipring.Full), pub.frame():
            pass
        children[0].kill()
        send(pub, 2)
        assert (kept.array == 1).all()


def test_frame_of_a_stopped_holder_stays_held(frames, processes):
    pub = frames.publisher()
    send(pub, 0)
    child = processes.start(HOLDER)
    child.expect(("holding", 0))
    child.stop()
    for value in range(1, 50):
        send(pub, value % 251)
    assert frames.streams()[0]["held"] == 1
    child.resume()
    child.say("end")
    child.join()


def test_half_written_frame_of_a_killed_publisher_is_never_seen(frames, processes):
    sub = frames.subscriber()
    child = processes.start("""
        pub = bus.frames("cam", shape=(100, 50), buffers=2).publisher()
        for value in (1, 2):
            with pub.frame() as array:
                array[...] = value
        with pub.frame() as array:
            array[:50] = 66
            say("half")
            hear()
    """)
    child.expect("half")
    child.kill()
    pub = frames.publisher()
    send(pub, 3)
    seen = []
    while True:
        with sub.recv(0) as frame:
            if frame is None:
                break
            assert (frame.array == frame.array[0, 0]).all()
            seen.append((frame.id, int(frame.array[0, 0])))
    assert set(seen) <= {(0, 1), (1, 2), (2, 3)} and seen[-1] == (2, 3)
    assert len(seen) + sub.lost == 3


def test_a_forked_child_is_refused_and_its_parent_goes_on(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    with sub.recv(60) as held:
        pid = os.fork()
        if pid == 0:
            try:
                with sub.recv(0):
                    os._exit(1)
            except slipring.ForkedHandle:
                pass
            try:
                with pub.frame():
                    os._exit(2)
            except slipring.ForkedHandle:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        for value in range(2, 20):
            send(pub, value)
        assert (held.array == 1).all()


STORM_PUBLISHER = """
    import itertools
    shapes = ((200, 300), (64, 64, 3))
    frames = bus.frames("cam", shape=shapes[which % len(shapes)], buffers=4)
    for attempt in itertools.count():
        try:
            pub = frames.publisher()
            break
        except slipring.Busy:
            pass
    say("up")
    while True:
        filling = pub.frame()
        try:
            with filling as array:
                half = array.shape[0] // 2
                array[:half] = 255
                array[...] = 255
                array[...] = len(array) % 256
        except slipring.Full:
            pass
"""
STORM_READER = """
    sub = bus.frames("cam").subscriber()
    say("up")
    last = -1
    while True:
        with sub.recv(60) as frame:
            for _ in range(3):
                assert (frame.array == len(frame.array) % 256).all(), "a torn or changed frame"
            assert frame.id > last
            last = frame.id
            assert sub.received + sub.lost >= 1
"""


def test_publishers_and_readers_killed_at_random_show_no_torn_frame_and_lose_no_buffer(bus, processes):
    chance = random.Random(int(os.environ.get("SLIPRING_STORM_SEED", "0")))
    seconds = float(os.environ.get("SLIPRING_STORM_SECONDS", "40")) / 8
    own = bus.frames("cam").subscriber()
    readers = [processes.start(STORM_READER) for _ in range(2)]
    witness = processes.start(STORM_READER)
    publisher = processes.start(STORM_PUBLISHER, which=0)
    for child in (*readers, witness, publisher):
        child.expect("up")
    kills, last, seen, deadline = 0, -1, 0, time.monotonic() + seconds
    while kills < 3 or time.monotonic() < deadline:
        victim = chance.randrange(3)
        with own.recv(60) as frame:
            assert frame is not None and frame.id > last, "nobody stalls"
            assert (frame.array == len(frame.array) % 256).all()
            last, seen = frame.id, seen + 1
        if seen % 3:
            continue
        kills += 1
        if victim == 2:
            publisher.kill()
            publisher = processes.start(STORM_PUBLISHER, which=kills)
            publisher.expect("up")
        else:
            readers[victim].kill()
            readers[victim] = processes.start(STORM_READER)
            readers[victim].expect("up")
    assert witness.alive, witness.stderr
    publisher.kill()
    for child in (*readers, witness):
        child.kill()
    while True:
        with own.recv(0) as frame:
            if frame is None:
                break
            last = frame.id
    assert own.received + own.lost == last + 1
    pub = bus.frames("cam", shape=(8, 8), buffers=4).publisher()
    loans = [pub.frame() for _ in range(4)]
    arrays = [loan.__enter__() for loan in loans]
    assert len({array.__array_interface__["data"][0] for array in arrays}) == 4, "every buffer is there again"
    for loan in loans:
        loan.__exit__(KeyError, None, None)
    eventually(lambda: bus.doctor() == [], "nothing left to clean")
