# SPDX-License-Identifier: Apache-2.0
"""Random and extreme words in the files of a live frames topic: exceptions, never a signal or a hang."""

import os
import random
from pathlib import Path

import pytest

import slipring
from hostile.damage import random_write

TRIALS = int(os.environ.get("SLIPRING_HOSTILE_TRIALS", "600")) // 10
SEED = int(os.environ.get("SLIPRING_HOSTILE_SEED", "0")) or random.randrange(1, 1 << 32)
GEOMETRY = {"shape": (30, 40), "buffers": 3}

USER = """
    import contextlib, itertools
    def frames(name):
        return bus.frames(name, shape=(30, 40), buffers=3)
    def publish(name):
        with frames(name).publisher() as pub:
            for number in range(12):
                with contextlib.suppress(slipring.Full):
                    with pub.frame(meta={"n": number}) as array:
                        array[...] = number
                yield
    def subscribe(name, **how):
        with bus.frames(name).subscriber(**how) as sub:
            for _ in range(12):
                with sub.recv(0.001) as frame:
                    if frame is not None:
                        frame.array.sum(), frame.meta
                yield
    def look(name):
        for _ in range(12):
            bus.stats(name), bus.doctor(), bus.frames(name).streams()
            yield
    ROLES = {"publish": publish, "subscribe": subscribe, "look": look}
    while (order := hear()) is not None:
        name, calls = order
        say("there")
        seen = set()
        for attempt in range(calls):
            try:
                for _ in ROLES[role](name, **how):
                    pass
            except slipring.SlipringError as error:
                seen.add(type(error).__name__)
        say(sorted(seen))
"""
ROLES = [
    ("publish", {}),
    ("subscribe", {"start": "oldest"}),
    ("subscribe", {"start": "last", "conflate": True}),
    ("look", {}),
]


@pytest.mark.foreign_files
@pytest.mark.timeout(600)
def test_random_bytes_in_a_live_frames_topic_raise_errors_and_never_kill_or_hang(bus, processes):
    dice = random.Random(SEED)
    users = [processes.start(USER, role=role, how=how) for role, how in ROLES]
    errors: set[str] = set()
    for number in range(TRIALS):
        name = f"t{number}"
        with bus.frames(name, **GEOMETRY).publisher() as pub, pub.frame() as array:
            array[...] = 1
        del array
        paths = [Path(bus.path, f"{name}.{end}") for end in ("ring", "readers", "frames", "frames")]
        for user in users:
            user.say((name, 3))
        for user in users:
            user.expect("there")
        writes = [random_write(dice, paths) for _ in range(dice.choice((1, 2, 8)))]
        for write in writes:
            write.make()
        for user in users:
            assert user.alive, f"seed {SEED}: {'; '.join(map(str, writes))}\n{user.stderr}"
            errors.update(user.hear())
        bus.remove(name, missing_ok=True)
    for user in users:
        user.say(None)
        user.join()
    assert errors <= {cls.__name__ for cls in slipring.errors.BY_CODE.values()}


WORDS = [0, 1, 2**64 - 1, 2**63, 0xFFFFFFFF, 2**40, 63, 64]


@pytest.mark.parametrize("value", WORDS)
@pytest.mark.parametrize("place", range(0, 64 + 8 + 8, 8))
def test_an_announcement_of_anything_is_an_error_or_a_frame(bus, place, value):
    """What a publisher of another program might send."""
    frames = bus.frames("cam", **GEOMETRY)
    pub, sub = frames.publisher(), frames.subscriber()
    with pub.frame(meta=b"12345678") as array:
        array[...] = 1
    del array
    body = bytearray(bus.subscriber("cam", start="last").recv(0).body)
    body[place : place + 8] = value.to_bytes(8, "little")
    pub._publisher.send(bytes(body), type="main")
    with pub.frame() as array:
        array[...] = 2
    del array
    with sub.recv(0) as frame:
        assert int(frame.array[0, 0]) == 1
    seen = []
    for _ in range(2):
        try:
            with sub.recv(0) as frame:
                if frame is not None:
                    seen.append(int(frame.array[0, 0]))
                    _ = frame.meta
        except slipring.Corrupt:
            pass
    assert seen and seen[-1] == 2, "the next frame is received as ever"


@pytest.mark.parametrize("size", [0, 1, 63, 64, 71, 73, 20000])
def test_a_message_that_is_not_an_announcement_is_skipped_with_corrupt(bus, size):
    frames = bus.frames("cam", **GEOMETRY)
    pub, sub = frames.publisher(), frames.subscriber()
    pub._publisher.send(bytes(size), type="main")
    with pub.frame() as array:
        array[...] = 2
    with pytest.raises(slipring.Corrupt), sub.recv(0):
        pass
    with sub.recv(0) as frame:
        assert int(frame.array[0, 0]) == 2


@pytest.mark.parametrize("dtype", [b"nonsense", b"O", b"[('x', 'O')]", b"[" * 90, b"\xff\xfe", b"<f8", b""])
def test_a_dtype_that_is_none_is_corrupt(bus, dtype):
    frames = bus.frames("cam", **GEOMETRY)
    with frames.publisher() as pub, pub.frame() as array:
        array[...] = 1
    path = Path(bus.path, "cam.frames")
    with path.open("r+b") as file:
        file.seek(4096 + 160)
        file.write(dtype.ljust(95, b"\0"))
    sub = bus.frames("cam").subscriber(start="last")
    with pytest.raises(slipring.Corrupt), sub.recv(0):
        pass
    with pytest.raises(slipring.Corrupt):
        bus.frames("cam").publisher()
