# SPDX-License-Identifier: Apache-2.0
"""Frames on a stepped bus: steps deliver announcements, time stamps are virtual; restarts, kills, losses."""

import pytest

import slipring
from slipring.testing import Deadlock, Killed, SteppedBus

SMALL = {"shape": (2, 3), "dtype": "u1", "buffers": 3}


@pytest.fixture
def frames(bus):
    return bus.frames("cam", **SMALL)


def send(pub, *values, stream=None):
    for value in values:
        with pub.frame(stream) as array:
            array[...] = value


def receive(sub, timeout=0):
    with sub.recv(timeout) as frame:
        return None if frame is None else (frame.id, int(frame.array.flat[0]))


def test_a_frame_is_in_flight_until_its_step_and_may_be_overwritten_on_its_way(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1, 2)
    assert receive(sub) is None
    assert bus.step()[2] == 0
    assert (receive(sub), receive(sub)) == ((0, 1), None)
    send(pub, 3, 4, 5)
    bus.run_until_idle()
    seen = []
    while (found := receive(sub)) is not None:
        seen.append(found)
    assert seen[-1] == (4, 5) and len(seen) <= 3
    assert sub.received + sub.lost == 5


def test_time_stamps_are_those_of_the_virtual_clock(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    began = bus.clock.time_ns()
    with pub.frame() as array:
        array[...] = 1
        bus.clock.sleep(0.25)
    with sub.recv(60) as frame:
        assert (frame.start_ns, frame.end_ns) == (began, began + 250_000_000)
        assert frame.time_ns == frame.end_ns == bus.clock.time_ns()


def test_a_waiting_subscriber_is_driven_to_its_frame_and_an_endless_wait_is_reported(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    bus.spawn(lambda: (bus.clock.sleep(2), send(pub, 7)))
    assert receive(sub, None) == (0, 7)
    assert bus.clock.monotonic() == 2
    assert receive(sub, 30) is None
    assert bus.clock.monotonic() == 32
    with pytest.raises(Deadlock, match="recv of frames on 'cam'"):
        receive(sub, None)


def test_a_subscriber_opened_before_its_topic_misses_nothing(bus, frames):
    sub = bus.frames("cam").subscriber()
    assert receive(sub, 0.01) is None
    send(frames.publisher(), 0, 1, 2)
    assert [receive(sub, 60) for _ in range(3)] == [(0, 0), (1, 1), (2, 2)]
    assert sub.lost == 0


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_restarted_publisher_is_noticed_and_followed(bus, frames, how):
    camera = bus.process()
    sub = frames.subscriber()
    send(camera.frames("cam", **SMALL).publisher(), 1, 2)
    assert receive(sub, 60) == (0, 1)
    bus.kill(camera) if how == "killed" else camera.close()
    send(frames.publisher(), 3)
    assert receive(sub, 60) == (1, 2), "what was unread is still read"
    with sub.recv(60) as frame:
        assert (frame.id, frame.run, int(frame.array[0, 0])) == (2, 2, 3)
    assert sub.lost == 0


def test_another_geometry_is_followed_and_held_frames_stay(bus, frames):
    sub = bus.frames("cam").subscriber()
    first = frames.publisher()
    send(first, 0, 1)
    with sub.recv(60) as held:
        bus.kill(first)
        second = bus.frames("cam", shape=(5, 6, 3), dtype="<f4", buffers=2).publisher()
        send(second, 8, 9)
        assert receive(sub, 60) == (1, 1)
        with sub.recv(60) as frame:
            assert (frame.array.shape, frame.array.dtype.str, frame.id) == ((5, 6, 3), "<f4", 2)
        send(second, *range(20))
        assert held.array.shape == (2, 3) and (held.array == 0).all()
    while receive(sub, 60):
        pass
    assert sub.received + sub.lost == 24


def test_a_waiting_subscriber_that_insisted_gets_found_and_asked(bus, frames):
    sub, first = frames.subscriber(), frames.publisher()
    waiting = bus.spawn(receive, sub, None)
    bus.run_until_idle()
    bus.kill(first)
    second = bus.frames("cam", shape=(4, 3)).publisher()
    with pytest.raises(slipring.TopicExists) as other:
        waiting.result()
    assert (other.value.argument, other.value.found, other.value.asked) == ("shape", "(4, 3)", "(2, 3)")
    second.close()
    send(frames.publisher(), 5)
    assert receive(sub, 60) == (0, 5), "it goes on as soon as it finds what it asked for"


# Deaths and losses


def test_frames_held_by_a_killed_subscriber_are_free_again(bus, frames):
    pub, viewer = frames.publisher(), bus.process()
    sub = viewer.frames("cam").subscriber()
    kept = []
    for value in range(3):
        send(pub, value)
        with sub.recv(60) as frame:
            kept.append(frame.array)
    with pytest.raises(slipring.Full) as full:
        send(pub, 9)
    assert full.value.argument == "buffers" and frames.streams()[0]["held"] == 3
    bus.kill(viewer)
    assert frames.streams()[0]["held"] == 0
    send(pub, 9)
    assert [int(array.flat[0]) for array in kept] == [0, 1, 2]


def test_frames_shown_by_a_closed_subscriber_stay_held(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    with sub.recv(60) as frame:
        kept = frame.array
    sub.close()
    assert frames.streams()[0]["held"] == 1
    send(pub, *range(9))
    assert (kept == 1).all()
    del kept
    assert frames.streams()[0]["held"] == 0


def test_a_subscriber_killed_while_it_takes_holds_nothing(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    bus.kill(sub, at="held")
    send(pub, 1)
    with pytest.raises(Killed):
        receive(sub, 60)
    assert frames.streams()[0]["held"] == 0


@pytest.mark.parametrize(("point", "sent"), [("claimed", False), ("committed", True)])
def test_a_publisher_killed_at_a_point_has_sent_its_frame_or_not(bus, frames, point, sent):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    bus.kill(pub, at=point)
    with pytest.raises(Killed):
        send(pub, 2)
    again = frames.publisher()
    send(again, 3)
    expected = [(0, 1), (1, 2), (2, 3)] if sent else [(0, 1), (1, 3)]
    assert [receive(sub, 1) for _ in expected] == expected
    assert sub.lost == 0


def test_a_buffer_that_a_killed_publisher_was_filling_is_free_for_the_next_one(bus):
    frames = bus.frames("one", shape=(4,), buffers=1)
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(Killed), pub.frame() as array:
        array[...] = 66
        bus.kill(pub)
    send(frames.publisher(), 2)
    assert receive(sub, 60) == (0, 2)


def test_an_announcement_that_is_lost_on_its_way_is_a_lost_frame(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    bus.lose(sub, 1)
    send(pub, 1, 2)
    assert receive(sub, 60) == (1, 2)
    assert (sub.received, sub.lost) == (1, 1)
    send(pub, 3)
    assert bus.lap(sub) == 1
    send(pub, 4)
    assert receive(sub, 60) == (3, 4)
    assert (sub.received, sub.lost) == (2, 2)


# Order


def test_the_seed_chooses_between_subscribers_but_never_within_one():
    def run(seed: int) -> list[str]:
        with SteppedBus(seed=seed) as bus:
            frames = bus.frames("cam", **{**SMALL, "buffers": 9})
            pub, subs = frames.publisher(), [frames.subscriber() for _ in range(3)]
            send(pub, *range(6))
            bus.run_until_idle()
            for sub in subs:
                assert [receive(sub) for _ in range(6)] == [(n, n) for n in range(6)]
        return bus.trace

    traces = [tuple(run(seed)) for seed in range(8)]
    assert traces == [tuple(run(seed)) for seed in range(8)]
    assert len(set(traces)) == 8
