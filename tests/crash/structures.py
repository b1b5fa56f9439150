# SPDX-License-Identifier: Apache-2.0
"""The ends of cells, the writers and readers of frames, servers and clients of calls, as parts of a storm.

An element and a frame are bodies of one size, filled with a poisoned one first. Journals are as those of topics; the
sequence is that of the element, or the number of the frame.
"""

import os
import time
import zlib

import slipring
from crash import bodies
from crash import journal as jn
from crash.actors import POLL_S, Life
from support.waiting import WATCHDOG_S

ELEMENT_BYTES, FRAME_SHAPE, FRAME_BYTES = 96, (64, 33), 64 * 33
_GIVEN_UP = 0.1


class GiveUpError(Exception):
    pass


def _fill(me: Life, place, counter: int) -> bool:
    """Whether it was filled to the end."""
    with memoryview(place).cast("B") as view:
        view[:] = bodies.make(me.incarnation | bodies.POISON, counter, len(view))
        if me.random.random() < _GIVEN_UP:
            return False
        view[:] = bodies.make(me.incarnation, counter, len(view))
        return True


def cells_writer(**life) -> None:
    me = Life(**life)
    with me.bus.cells(me.topic).writer() as writer:
        while not me.board.stopping:
            counter, me.counter = me.counter, me.counter + 1
            slot = writer.slot()
            try:
                with slot as view:
                    if not _fill(me, view, counter):
                        raise GiveUpError
            except GiveUpError:
                continue
            me.journal.write(jn.SENT, counter, slot.seq, 1)
            me.beat()


def cells_reader(**life) -> None:
    """An element's sequence is not told to a Python reader: the audit finds it by its counter."""
    me = Life(**life)
    with me.bus.cells(me.topic).reader() as reader:
        while reader.wait(POLL_S) or not me.board.reached_end(0):
            newest = me.random.random() < 0.5
            values = [reader.latest()] if newest else reader.snapshot()
            rows = [
                (jn.GOT, jn.UNKNOWN, *bodies.read(bytes(value)), 0) for value in values if value is not None
            ]
            if rows:
                me.journal.write_all(rows)
                me.beat()


def frame_writer(**life) -> None:
    me = Life(**life)
    with me.bus.frames(me.topic).publisher(sender=me.sender) as pub:
        while not me.board.stopping:
            counter, me.counter = me.counter, me.counter + 1
            filling = pub.frame()
            try:
                with filling as array:
                    if not _fill(me, array, counter):
                        raise GiveUpError
            except GiveUpError:
                continue
            except slipring.Full:  # all are held
                os.sched_yield()
                continue
            me.journal.write(jn.SENT, counter, filling.id, 1)
            me.beat()


def frame_reader(**life) -> None:
    me = Life(**life)
    with me.bus.frames(me.topic).subscriber(start="oldest") as sub:
        me.journal.write(jn.START)
        while True:
            with sub.recv(POLL_S) as frame:
                if frame is None:
                    if me.board.reached_end(0):
                        break
                    continue
                body = frame.array.tobytes()
                incarnation, counter = bodies.read(body)
                for _ in range(me.random.randrange(4)):
                    os.sched_yield()
                incarnation = incarnation if frame.array.tobytes() == body else bodies.CHANGED
                me.journal.write(jn.GOT, frame.id, incarnation, counter)
            me.beat()
        me.journal.write(jn.END, sub.received, sub.lost, sub.filtered)


def server(**life) -> None:
    """Writes down every call before it answers: GOT client's incarnation, its number."""
    me = Life(**life)

    def digest(incarnation: int, number: int, data: bytes) -> int:
        me.journal.write(jn.GOT, number, incarnation, number)
        me.beat()
        return zlib.crc32(data, number)

    with me.bus.server(me.topic) as serving:
        serving.method(digest)
        serving.start()
        while not me.board.reached_end(0):
            time.sleep(POLL_S)  # others serve


def client(**life) -> None:
    """SENT number, 0 for right, 1 for wrong; MAYBE number: PeerGone, the server died over it."""
    me = Life(**life)
    with me.bus.client(me.topic, timeout=WATCHDOG_S) as caller:
        caller.wait_for_server(WATCHDOG_S)
        while not me.board.stopping:
            number, me.counter = me.counter, me.counter + 1
            data = bodies.make(me.incarnation, number, me.random.randrange(3000))
            try:
                answer = caller.call("digest", me.incarnation, number, data)
            except slipring.PeerGone:
                me.journal.write(jn.MAYBE, number)
                caller.wait_for_server(POLL_S)
            else:
                me.journal.write(jn.SENT, number, int(answer != zlib.crc32(data, number)), 1)
                me.beat()
