# SPDX-License-Identifier: Apache-2.0
"""Promise 22 between real processes: who comes first, restarts, other geometries, readers at their pace."""

import numpy as np
import pytest

import slipring
from support.waiting import eventually

CAMERA = """
    frames = bus.frames("cam", shape=shape, dtype=dtype, buffers=buffers, streams=streams)
    pub = frames.publisher()
    say("ready")
    number = 0
    while True:
        count = hear()
        for _ in range(count):
            with pub.frame(frames._given[3] and frames._given[3][0]) as array:
                array[...] = number % 251
            number += 1
        say(number)
"""


def camera(processes, shape=(20, 30), dtype="u1", buffers=4, streams=None):
    child = processes.start(CAMERA, shape=shape, dtype=dtype, buffers=buffers, streams=streams)
    child.expect("ready")
    return child


def shoot(child, count=1):
    child.say(count)
    return child.hear()


def receive(sub, timeout=60):
    with sub.recv(timeout) as frame:
        return None if frame is None else (frame.id, int(frame.array.flat[0]))


def test_a_subscriber_may_come_before_its_topic_and_misses_nothing(bus, processes):
    sub = bus.frames("cam").subscriber()
    with sub.recv(0.01) as frame:
        assert frame is None
    child = camera(processes)
    shoot(child, 3)
    assert [receive(sub) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    assert sub.lost == 0


def test_a_waiter_is_woken_by_a_frame_of_another_process(bus, processes, background):
    child = camera(processes)
    sub = bus.frames("cam").subscriber()
    waiting = background(receive, sub, None)
    waiting.wait_until_asleep()
    shoot(child)
    assert waiting.result() == (0, 0)


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_restarted_publisher_is_noticed_and_followed(bus, processes, how):
    first = camera(processes)
    sub = bus.frames("cam").subscriber()
    shoot(first, 2)
    assert receive(sub) == (0, 0)
    first.kill() if how == "killed" else (first.signal(15), first.join(None))
    second = camera(processes)
    shoot(second, 1)
    assert receive(sub) == (1, 1), "what was unread is still read"
    with sub.recv(60) as frame:
        assert (frame.id, frame.run, int(frame.array[0, 0])) == (2, 2, 0)
    assert sub.lost == 0


def test_another_geometry_is_followed_and_frames_held_from_before_stay(bus, processes):
    first = camera(processes, shape=(20, 30), dtype="u1")
    sub = bus.frames("cam").subscriber()
    shoot(first, 2)
    with sub.recv(60) as held:
        first.kill()
        second = camera(processes, shape=(5, 6, 3), dtype="<f4", buffers=2)
        shoot(second, 2)
        assert receive(sub) == (1, 1)
        with sub.recv(60) as frame:
            assert (frame.array.shape, frame.array.dtype, frame.id) == ((5, 6, 3), np.float32, 2)
        shoot(second, 20)
        assert held.array.shape == (20, 30) and (held.array == 0).all()
    while receive(sub, 0):
        pass
    assert sub.received + sub.lost == 24


def test_a_waiting_subscriber_that_insisted_gets_the_found_and_the_asked_geometry(bus, processes, background):
    first = camera(processes, shape=(20, 30))
    sub = bus.frames("cam", shape=(20, 30), dtype="u1").subscriber()
    shoot(first)
    assert receive(sub) == (0, 0)
    waiting = background(receive, sub, None)
    waiting.wait_until_asleep()
    first.kill()
    second = camera(processes, shape=(40, 30))
    with pytest.raises(slipring.TopicExists) as other:
        waiting.result()
    assert (other.value.argument, other.value.found, other.value.asked) == ("shape", "(40, 30)", "(20, 30)")
    second.kill()
    third = camera(processes, shape=(20, 30))
    shoot(third)
    assert receive(sub) == (1, 0), "it goes on as soon as it finds what it asked for"


def test_three_processes_each_see_every_frame_whole(bus, processes):
    reader = """
        sub = bus.frames("cam").subscriber()
        say("ready")
        seen = []
        while not seen or seen[-1] != last:
            with sub.recv(60) as frame:
                first = int(frame.array.flat[0])
                assert (frame.array == first).all() and first == frame.id % 251
                seen.append(frame.id)
        assert seen == sorted(set(seen))
        say(len(seen), sub.lost)
    """
    frames = bus.frames("cam", shape=(480, 640), buffers=6)
    pub = frames.publisher()
    children = [processes.start(reader, last=1999) for _ in range(3)]
    for child in children:
        child.expect("ready")
    for number in range(2000):
        try:
            with pub.frame() as array:
                array[...] = number % 251
        except slipring.Full:
            raise AssertionError("three readers hold three of six buffers at most") from None
    for child in children:
        seen, lost = child.hear()
        assert seen + lost == 2000
        child.join()


def test_frames_are_given_back_by_a_reader_that_ends(bus, processes):
    frames = bus.frames("cam", shape=(10,), buffers=2)
    pub = frames.publisher()
    child = processes.start("""
        sub = bus.frames("cam").subscriber()
        say("ready")
        kept = []
        for _ in range(2):
            with sub.recv(60) as frame:
                kept.append(frame.array)
        say("held")
        hear()
    """)
    child.expect("ready")
    for _ in range(2):
        with pub.frame() as array:
            array[:] = 1
    child.expect("held")
    assert frames.streams()[0]["held"] == 2
    with pytest.raises(slipring.Full), pub.frame():
        pass
    child.say("end")
    child.join()
    with pub.frame() as array:
        array[:] = 2
    eventually(lambda: frames.streams()[0]["held"] == 0, "no frame held")
