# SPDX-License-Identifier: Apache-2.0
"""Promise 22, in one process: arrays in place, held frames, streams, counts, stamps and metadata."""

import asyncio
import gc
import sys

import numpy as np
import pytest

import slipring

pytestmark = pytest.mark.needs("frames")

SMALL = {"shape": (4, 6, 3), "dtype": "u1", "buffers": 3}


@pytest.fixture
def frames(bus):
    return bus.frames("cam", **SMALL)


def send(pub, value, stream=None, **more):
    with pub.frame(stream, **more) as array:
        array[...] = value


def receive(sub, timeout=0):
    """The id and the one value of the next frame."""
    with sub.recv(timeout) as frame:
        if frame is None:
            return None
        assert (frame.array == frame.array.flat[0]).all()
        return frame.id, int(frame.array.flat[0])


def test_an_array_filled_in_its_block_is_the_array_received(frames):
    pub, sub = frames.publisher(sender="lens"), frames.subscriber()
    image = np.arange(72, dtype="u1").reshape(4, 6, 3)
    with pub.frame() as array:
        assert (array.shape, array.dtype, array.flags.writeable) == ((4, 6, 3), np.uint8, True)
        array[:] = image
    with sub.recv(0) as frame:
        assert (frame.array == image).all()
        assert (frame.array.dtype, frame.id, frame.stream, frame.meta) == (np.uint8, 0, "main", None)
    assert (sub.received, sub.lost, sub.filtered) == (1, 0, 0)


@pytest.mark.parametrize(
    "dtype", ["u1", "<u2", ">i4", "f4", "f8", "c16", "?", "S5", "M8[ns]", [("x", "f4"), ("n", "<u2", (2,))]]
)
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (1, 1, 1, 1, 1, 1, 1, 2), 9])
def test_any_shape_and_dtype_arrives(bus, dtype, shape):
    frames = bus.frames("any", shape=shape, dtype=dtype)
    sub, pub = frames.subscriber(), frames.publisher()
    with pub.frame() as array:
        assert array.dtype == np.dtype(dtype)
        raw = np.arange(array.nbytes, dtype="u1").tobytes()
        array[...] = np.frombuffer(raw, dtype).reshape(array.shape)
        expected = array.tobytes()
    with sub.recv(0) as frame:
        assert (frame.array.dtype, frame.array.shape) == (np.dtype(dtype), np.empty(shape, "u1").shape)
        assert frame.array.tobytes() == expected


def test_a_received_array_cannot_be_written(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    with sub.recv(0) as frame:
        assert not frame.array.flags.owndata and not frame.array.flags.writeable
        with pytest.raises(ValueError):
            frame.array.flags.writeable = True
        with pytest.raises(ValueError):
            frame.array[0] = 9


def test_a_held_frame_does_not_change_and_the_publisher_goes_on(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    with sub.recv(0) as held:
        for value in range(2, 200):
            send(pub, value)
            assert (held.array == 1).all()
        with sub.recv(0) as newer:
            assert newer.id >= 196
        assert (held.array == 1).all()


def test_full_names_buffers_when_all_are_held_and_one_released_is_enough(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    held = []
    for value in range(3):
        send(pub, value)
        with sub.recv(0) as frame:
            held.append(frame.array)
    with pytest.raises(slipring.Full) as full, pub.frame():
        pass
    assert full.value.argument == "buffers"
    assert [int(array.flat[0]) for array in held] == [0, 1, 2]
    del frame, held[1]
    send(pub, 9)
    assert receive(sub) == (3, 9)
    assert [int(array.flat[0]) for array in held] == [0, 2]


def test_an_array_kept_beyond_its_block_stays_held_until_it_is_gone(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 7)
    with sub.recv(0) as frame:
        kept = frame.array[1:, 2]
    with pytest.raises(slipring.Closed):
        _ = frame.array
    assert frames.streams()[0]["held"] == 1
    for value in range(50):
        send(pub, value)
    assert (kept == 7).all()
    del kept
    assert frames.streams()[0]["held"] == 0


def test_an_exception_in_the_block_aborts_the_loan_unseen(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    for _ in range(10):
        with pytest.raises(KeyError), pub.frame() as array:
            array[:] = 66
            raise KeyError
    assert receive(sub) is None
    send(pub, 5)
    assert receive(sub) == (0, 5)


def test_a_frame_that_an_aborted_one_was_written_over_is_lost_not_shown(bus):
    frames = bus.frames("one", shape=(9,), buffers=1)
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    with pytest.raises(KeyError), pub.frame() as array:
        array[:5] = 66
        raise KeyError
    assert receive(sub) is None
    assert (sub.received, sub.lost) == (0, 1)


def test_arrays_made_of_the_array_cannot_change_a_sent_frame(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(BufferError, match="delete them"), pub.frame() as array:
        row = array[0]
    assert receive(sub) is None
    row[:] = 1
    del row, array
    gc.collect()
    with pub.frame() as array:
        array[:] = 3
        row = array[0]
        row[:] = 3
        del row
    with pytest.raises(ValueError):
        array[0] = 4
    assert receive(sub) == (0, 3)


def test_several_frames_may_be_filled_at_once_and_sent_in_any_order(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    first, second = pub.frame(), pub.frame()
    with first as a:
        with second as b:
            b[:] = 2
        a[:] = 1
    assert (second.id, first.id, first.seq) == (0, 1, 1)
    assert [receive(sub), receive(sub)] == [(0, 2), (1, 1)]
    with pytest.raises(RuntimeError):
        first.__enter__()


def test_lost_is_exact_whatever_was_overwritten(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    for burst in (1, 3, 4, 50, 9000):  # the last one laps the ring of announcements
        before, sent = sub.received + sub.lost, burst
        for value in range(sent):
            send(pub, value % 251)
        while receive(sub) is not None:
            pass
        assert sub.received + sub.lost == before + sent
    assert sub.received <= 3 * 5


def test_conflate_gives_the_newest_and_counts_the_rest(frames):
    pub, sub = frames.publisher(), frames.subscriber(conflate=True)
    for value in range(10):
        send(pub, value)
    assert receive(sub) == (9, 9)
    assert receive(sub) is None
    assert (sub.received, sub.lost, sub.filtered) == (1, 0, 9)


@pytest.mark.parametrize(("start", "first"), [("new", None), ("last", 9), ("oldest", 7)])
def test_a_subscriber_starts_where_it_asked(frames, start, first):
    pub = frames.publisher()
    for value in range(10):
        send(pub, value)
    sub = frames.subscriber(start=start)
    assert receive(sub) == (None if first is None else (first, first))


def test_streams_have_their_own_shapes_buffers_and_ids(bus):
    frames = bus.frames(
        "rig", streams={"rgb": ((4, 4, 3), "u1"), "depth": {"shape": (2, 2), "dtype": "f4", "buffers": 2}}
    )
    pub = frames.publisher()
    every, depth = frames.subscriber(), frames.subscriber(stream="depth")
    send(pub, 1, "rgb")
    send(pub, 2, "depth")
    send(pub, 3, "rgb")
    with depth.recv(0) as frame:
        assert (frame.array.shape, frame.array.dtype, frame.id, frame.seq) == ((2, 2), np.float32, 0, 1)
    seen = []
    for _ in range(3):
        with every.recv(0) as frame:
            seen.append((frame.stream, frame.id, frame.array.shape))
    assert seen == [("rgb", 0, (4, 4, 3)), ("depth", 0, (2, 2)), ("rgb", 1, (4, 4, 3))]
    assert pub.streams == every.streams == ("rgb", "depth")
    assert [(s["stream"], s["buffers"], s["frame_bytes"]) for s in frames.streams()] == [
        ("rgb", 4, 48),
        ("depth", 2, 16),
    ]


def test_a_fast_stream_takes_nothing_from_a_slow_one(bus):
    frames = bus.frames("rig", shape=(8,), streams=("slow", "fast"))
    pub, slow = frames.publisher(), frames.subscriber("slow")
    send(pub, 1, "slow")
    for value in range(1000):
        send(pub, value % 251, "fast")
    assert receive(slow) == (0, 1)
    assert slow.lost == 0


def test_an_unknown_stream_is_an_error_that_names_the_existing_ones(bus):
    frames = bus.frames("rig", shape=(8,), streams=("left", "right"))
    pub = frames.publisher()
    for ask in (lambda: frames.subscriber("up"), lambda: pub.frame("up")):
        with pytest.raises(slipring.TopicNotFound, match="'left', 'right'") as unknown:
            ask()
        assert unknown.value.argument == "stream"
    with pytest.raises(slipring.BadArgument, match="'left', 'right'"):
        pub.frame()


def test_a_subscriber_that_came_first_gets_an_unknown_stream_error_when_it_attaches(bus):
    sub = bus.frames("rig").subscriber("up")
    bus.frames("rig", shape=(8,), streams=("left",)).publisher()
    with pytest.raises(slipring.TopicNotFound, match="'left'"), sub.recv(1):
        pass


def test_stamps_and_metadata_arrive(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1, meta=b"\x00raw")
    send(pub, 2, meta={"exposure_us": 800, "tags": ["a"]}, start_ns=5, end_ns=7)
    filling = pub.frame()
    with filling as array:
        array[:] = 3
        filling.meta = "late"
    with sub.recv(0) as frame:
        assert frame.meta == b"\x00raw"
        assert 0 < frame.start_ns <= frame.end_ns
        assert abs(frame.time_ns - frame.end_ns) < 10**9
    with sub.recv(0) as frame:
        assert (frame.meta, frame.start_ns, frame.end_ns) == ({"exposure_us": 800, "tags": ["a"]}, 5, 7)
    with sub.recv(0) as frame:
        assert frame.meta == "late"


@pytest.mark.parametrize("stamp", ["start_ns", "end_ns"])
@pytest.mark.parametrize(("value", "error"), [(2**63, slipring.BadArgument), (1.5, TypeError)])
def test_stamps_that_are_not_times_are_refused_by_name_and_abort_the_frame(frames, stamp, value, error):
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(error, match=stamp):
        send(pub, 1, **{stamp: value})
    assert receive(sub) is None
    send(pub, 2)
    assert receive(sub) == (0, 2)


@pytest.mark.parametrize("meta", [object(), {1j: 2}, {b"x": 1}])
def test_metadata_that_cannot_be_written_aborts_the_frame(frames, meta):
    pub, sub = frames.publisher(), frames.subscriber()
    for _ in range(5):
        with pytest.raises(TypeError, match="meta"), pub.frame(meta=meta):
            pass
    assert receive(sub) is None
    with pytest.raises(slipring.TooLarge) as large, pub.frame(meta=bytes(16385)):
        pass
    assert large.value.argument == "meta"
    send(pub, 1, meta=bytes(16384))
    assert receive(sub) == (0, 1)


def test_a_whole_array_can_be_sent(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    assert pub.send(np.full((4, 6, 3), 8, "u1"), meta=1) == 0
    assert receive(sub) == (0, 8)
    with pytest.raises(slipring.BadArgument):
        pub.send(np.zeros((4, 6), "u1"))
    assert receive(sub) is None


def test_expiry_is_none(frames):
    sub = frames.subscriber()
    for timeout in (0, 0.01):
        with sub.recv(timeout) as frame:
            assert frame is None
    frames.publisher()
    for timeout in (0, 0.01):
        with sub.recv(timeout) as frame:
            assert frame is None


def test_slipring_wait_and_asyncio_take_frame_subscribers(frames, run):
    pub, sub, other = frames.publisher(), frames.subscriber(), frames.subscriber()
    assert slipring.wait([sub], 0) == []

    async def one():
        async with sub.arecv(0.01) as nothing:
            assert nothing is None
        asyncio.get_running_loop().call_later(0.01, send, pub, 4)
        async with sub.arecv(60) as frame:
            return int(frame.array[0, 0, 0])

    assert run(one()) == 4
    assert slipring.wait([sub, other], 0) == [other]


def test_closing_ends_a_wait_with_closed(frames, background):
    sub = frames.subscriber()
    frames.publisher()
    waiting = background(lambda: receive(sub, None))
    waiting.wait_until_asleep()
    sub.close()
    with pytest.raises(slipring.Closed):
        waiting.result()
    with pytest.raises(slipring.Closed), sub.recv(0):
        pass
    assert sub.received == 0


def test_closing_the_bus_closes_both_ends_and_a_kept_array_stays_readable(bus):
    frames = bus.frames("cam", **SMALL)
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 6)
    with sub.recv(0) as frame:
        kept = frame.array
    with pub.frame() as filled:
        filled[:] = 7
    bus.close()
    assert pub.closed and sub.closed
    assert (kept == 6).all() and (filled == 7).all()
    with pytest.raises(slipring.Closed), pub.frame():
        pass


def test_closing_in_the_middle_of_a_frame_aborts_it(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(slipring.Closed), pub.frame() as array:
        array[:] = 1
        pub.close()
    again = frames.publisher()
    assert receive(sub) is None
    send(again, 2)
    assert receive(sub) == (0, 2)


def test_a_second_publisher_is_busy_and_messages_and_frames_do_not_mix(bus, frames):
    first = frames.publisher()
    with pytest.raises(slipring.Busy):
        frames.publisher()
    send(first, 1)
    with pytest.raises(slipring.TopicExists) as other:
        bus.publisher("cam")
    assert (other.value.found, other.value.asked) == ("frames", "messages")
    bus.create("plain")
    for ask in (bus.frames("plain", **SMALL).publisher, bus.frames("plain").subscriber):
        with pytest.raises(slipring.TopicExists) as other:
            ask()
        assert (other.value.found, other.value.asked) == ("messages", "frames")


@pytest.mark.parametrize(
    ("given", "argument"),
    [
        ({"shape": (0,)}, "shape"),
        ({"shape": (-1, 2)}, "shape"),
        ({"shape": ()}, "shape"),
        ({"shape": (1,) * 9}, "shape"),
        ({"shape": (2**40, 2)}, "shape"),
        ({"shape": (2,), "dtype": "O"}, "dtype"),
        ({"shape": (2,), "dtype": "nonsense"}, "dtype"),
        ({"shape": (2,), "dtype": "S0"}, "dtype"),
        ({"shape": (2,), "dtype": ("f4", (3,))}, "dtype"),
        ({"shape": (2,), "buffers": 0}, "buffers"),
        ({"shape": (2,), "buffers": 65}, "buffers"),
        ({"shape": (2,), "buffers": 33, "streams": ("a", "b")}, "buffers"),
        ({"shape": (2,), "streams": ()}, "streams"),
        ({"shape": (2,), "streams": ("a", "a")}, "streams"),
        ({"shape": (2,), "streams": ("../a",)}, "streams"),
        ({"shape": (2,), "streams": ("a" * 64,)}, "streams"),
        ({"shape": (2,), "streams": [f"s{n}" for n in range(17)]}, "streams"),
        ({"streams": {"a": {"form": 1}}}, "streams"),
        ({"streams": ("a",)}, "shape"),
        ({}, "shape"),
    ],
)
def test_bad_geometry_is_refused_by_name(bus, given, argument):
    with pytest.raises((slipring.BadArgument, slipring.TooLarge)) as refused:
        bus.frames("cam", **given).publisher()
    assert refused.value.argument == argument
    bus.frames("cam", **SMALL).publisher()


@pytest.mark.parametrize(
    "given",
    [{"shape": "abc"}, {"shape": (1.5,)}, {"shape": (2,), "streams": (1,)}, {"shape": (2,), "streams": 7}],
)
def test_arguments_of_a_wrong_type_are_type_errors(bus, given):
    with pytest.raises(TypeError):
        bus.frames("cam", **given).publisher()


def test_stats_doctor_and_remove_include_frames(bus, frames):
    pub, sub = frames.publisher(), frames.subscriber()
    send(pub, 1)
    stats = bus.stats("cam")
    assert (stats["content"], stats["delivery"], stats["writers"]) == ("frames", "lossy", "one")
    assert [stream["stream"] for stream in stats["streams"]] == ["main"]
    assert bus.topics() == ["cam"] and bus.doctor() == []
    bus.remove("cam")
    for use in (lambda: receive(sub), lambda: send(pub, 2)):
        with pytest.raises(slipring.TopicGone):
            use()
    pub.close()
    again = frames.publisher()
    send(again, 3)
    assert receive(frames.subscriber(start="last")) == (0, 3)


def test_a_missing_numpy_names_the_extra(bus, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ImportError, match=r"slipring\[numpy\]"):
        bus.frames("cam")


def test_a_full_reader_table_is_refused_by_name(bus):
    frames = bus.frames("cam", max_readers=1, **SMALL)
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(slipring.TooManyReaders) as many:
        frames.subscriber()
    assert many.value.argument == "max_readers"
    send(pub, 1)
    assert receive(sub) == (0, 1)


def test_metadata_of_objects_is_refused(frames):
    pub, sub = frames.publisher(), frames.subscriber()
    with pytest.raises(TypeError, match="objects or pointers"), pub.frame(meta=memoryview(np.array([None]))):
        pass
    assert receive(sub) is None
