# SPDX-License-Identifier: Apache-2.0
"""Set one word of a topic's files after another to extreme values, and use the topic after each change.

The topic is used through handles that were opened before the change and through handles opened after it.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import slipring
from hostile.damage import TWISTS, WORD, Write, twist
from storm.board import Board

TRIAL = 300  # word of the board: the number of the trial under way
NEAR = 512  # bytes from the beginning in which every word gets every value
AROUND = 32  # bytes on either side of a word that show whether that part is in use
SETTINGS = {"capacity": 4096, "slots": 16, "max_readers": 3, "max_writers": 3, "max_cursors": 2}
FILES = ("t.ring", "t.readers")


def trials(contents: dict[str, bytes], every: bool) -> list[tuple[str, int, str]]:
    """File, offset and twist. Beyond the header a word in use gets two twists in turn; of the words in the
    zeros between and in the payload one in eight gets one; with `every` each word gets each."""
    chosen, turn = [], itertools.cycle(TWISTS)
    for name, data in contents.items():
        payload = len(data) - (SETTINGS["capacity"] if name == "t.ring" else 0)
        for offset in range(0, len(data), WORD.size):
            in_use = offset < payload and any(data[max(0, offset - AROUND) : offset + AROUND])
            if every or offset < NEAR:
                chosen += [(name, offset, twist_name) for twist_name in TWISTS]
            elif in_use:
                chosen += [(name, offset, next(turn)) for _ in range(2)]
            elif offset % (8 * WORD.size) == 0:
                chosen.append((name, offset, next(turn)))
    return chosen


def topic(root: str, delivery: str) -> dict[str, bytes]:
    """A topic in use: messages of all ages, a cursor, a dead writer's claim. Returns its files' contents."""
    with slipring.Bus("test", root=root) as bus:
        with bus.publisher("t", sender="p", delivery=delivery, **SETTINGS) as pub:
            pub.send_many([b"m" * 100] * 40)
            pub.send(b"", type="empty")
            if delivery == "reliable":
                with bus.subscriber("t", cursor="c", start="oldest") as sub:
                    sub.recv_many(8)
                    sub.commit()
            if os.fork() == 0:
                loan = slipring.Bus("test", root=root).publisher("t").loan(16)
                loan.__enter__()
                os._exit(0)
            os.wait()
            pub.send(b"behind a dead claim")
        return {name: (Path(bus.path) / name).read_bytes() for name in FILES}


def run(root: str, board_path: str, delivery: str, first: int, every: bool) -> None:
    board = Board(board_path)
    contents = topic(root, delivery) if first == 0 else None
    folder = Path(root) / "test"
    original = folder.parent / "original"
    if contents is not None:
        original.mkdir(exist_ok=True)
        for name, data in contents.items():
            (original / name).write_bytes(data)
    contents = {name: (original / name).read_bytes() for name in FILES}
    chosen = trials(contents, every)
    for number in range(first, len(chosen)):
        name, offset, twist_name = chosen[number]
        board.write(TRIAL, number)
        for each, data in contents.items():
            Write(folder / each, 0, data).make()
        _one(root, Write(folder / name, offset, twist(contents[name], offset, twist_name)))
    board.write(TRIAL, len(chosen))


def _one(root: str, change: Write) -> None:
    with contextlib.ExitStack() as stack, contextlib.suppress(slipring.SlipringError):
        handles = [_open(root, stack)]
        change.make()
        handles.append(_open(root, stack))
        for bus, pubs, subs in handles:
            for use in [*_uses_of_bus(bus), *_uses_of_publishers(pubs), *_uses_of_subscribers(subs)]:
                with contextlib.suppress(slipring.SlipringError):
                    use()


def _open(root: str, stack: contextlib.ExitStack):
    def opened(opening, *args, **settings) -> Iterator:
        with contextlib.suppress(slipring.SlipringError):
            handle = opening("t", *args, **settings)
            stack.callback(_close, handle)
            yield handle

    bus = slipring.Bus("test", root=root)
    stack.callback(_close, bus)
    pubs = [*opened(bus.publisher, sender="q")]
    subs = [
        *opened(bus.subscriber, start="oldest"),
        *opened(bus.subscriber, start="last", lossy=True, conflate=True),
        *opened(bus.subscriber, cursor="c", start="oldest"),
    ]
    return bus, pubs, subs


def _close(handle) -> None:
    with contextlib.suppress(slipring.SlipringError):
        handle.close()


def _uses_of_bus(bus):
    return [bus.topics, bus.doctor, lambda: bus.stats("t"), lambda: bus.cursors("t"), lambda: bus.create("t")]


def _uses_of_publishers(pubs):
    for pub in pubs:
        yield lambda pub=pub: pub.send_many([b"x" * 100] * 20, timeout=0)
        yield lambda pub=pub: pub.send(b"x", timeout=0.0005)
        yield lambda pub=pub: pub.wait_for_subscribers(1, timeout=0)
        yield lambda pub=pub: _lend(pub)


def _lend(pub) -> None:
    with pub.loan(2000, timeout=0) as view:
        view[:] = bytes(2000)


def _uses_of_subscribers(subs):
    for sub in subs:
        yield lambda sub=sub: sub.recv(timeout=0.0005)
        yield lambda sub=sub: sub.recv_many(100)
        yield lambda sub=sub: sub.seek("oldest")
        yield lambda sub=sub: sub.recv_batch(100)
        yield lambda sub=sub: sub.seek(30)
        yield lambda sub=sub: _hold(sub)
        yield lambda sub=sub: slipring.wait([sub], timeout=0)
        yield lambda sub=sub: (sub.stats(), sub.lag, sub.lost, sub.position)
        yield lambda sub=sub: sub.commit()


def _hold(sub) -> None:
    with sub.view(timeout=0) as message:
        if message is not None:
            bytes(message.body)
