# SPDX-License-Identifier: Apache-2.0
"""Roles of a storm that use cells, frames and calls.

Elements and frames are bodies of one size, each filled with a poisoned body first. Journals have the records of topics;
the sequence is that of the element or the number of the frame. The identity of a call is the client's life and a
number.
"""

import os
import time
import zlib

import slipring
from storm import bodies
from storm.fork_server import WATCHDOG_S
from storm.journal import CHANGED, TORN, UNKNOWN, Kind, Record
from storm.roles import POLL_S
from storm.worker import Worker

ELEMENT_BYTES, FRAME_SHAPE, FRAME_BYTES = 96, (64, 33), 64 * 33
_GIVEN_UP = 0.1


class GiveUpError(Exception):
    pass


def _fill(me: Worker, place, who: int) -> bool:
    """Return whether the body was filled completely."""
    with memoryview(place).cast("B") as view:
        view[:] = bodies.make(who | bodies.POISON, len(view))
        if me.random.random() < _GIVEN_UP:
            return False
        view[:] = bodies.make(who, len(view))
        return True


def _row(me: Worker, seq: int, body: bytes) -> Record:
    opened, now = bodies.open_body(body), time.monotonic_ns()
    if opened is None:
        return Record(Kind.CORRUPT, me.topic_number, now, seq, 0, TORN)
    return Record(Kind.RECEIVED, me.topic_number, now, seq, *opened, len(body))


def cells_writer(worker: dict) -> None:
    me = Worker(**worker)
    with me.bus.cells(me.topic).writer() as writer:
        while not me.stopping:
            who, slot = me.next_identity(), writer.slot()
            try:
                with slot as view:
                    if not _fill(me, view, who):
                        raise GiveUpError
            except GiveUpError:
                continue
            me.write(Kind.SENT, slot.seq, who, 1)
            me.beat()


def cells_reader(worker: dict) -> None:
    """Python readers do not learn the sequence of an element: the audit finds it by its counter."""
    me = Worker(**worker)
    with me.bus.cells(me.topic).reader() as reader:
        while reader.wait(POLL_S) or not me.ending:
            newest = me.random.random() < 0.5
            values = [reader.latest()] if newest else reader.snapshot()
            rows = [_row(me, UNKNOWN, bytes(value)) for value in values if value is not None]
            if rows:
                me.journal.write_all(rows)
                me.beat()


def frame_writer(worker: dict) -> None:
    me = Worker(**worker)
    with me.bus.frames(me.topic).publisher(sender=me.sender) as pub:
        while not me.stopping:
            who, filling = me.next_identity(), pub.frame()
            try:
                with filling as array:
                    if not _fill(me, array, who):
                        raise GiveUpError
            except GiveUpError:
                continue
            except slipring.Full:  # all frames are held
                os.sched_yield()
                continue
            me.write(Kind.SENT, filling.id, who, 1)
            me.beat()


def frame_reader(worker: dict) -> None:
    me = Worker(**worker)
    with me.bus.frames(me.topic).subscriber(start="oldest") as sub:
        me.write(Kind.STARTED)
        while True:
            with sub.recv(POLL_S) as frame:
                if frame is None:
                    if me.ending:
                        break
                    continue
                body = frame.array.tobytes()
                row = _row(me, frame.id, body)
                for _ in range(me.random.randrange(4)):
                    os.sched_yield()
                if frame.array.tobytes() != body:
                    row = Record(Kind.CORRUPT, me.topic_number, row.time_ns, frame.id, 0, CHANGED)
                me.journal.write_all([row])
            me.beat()
        me.write(Kind.COUNTED, 0, sub.received, sub.lost, sub.filtered)
        me.write(Kind.ENDED)


def server(worker: dict) -> None:
    """Record every call before the answer."""
    me = Worker(**worker)

    def digest(life: int, number: int, data: bytes) -> int:
        me.write(Kind.HANDLED, 0, bodies.identity(life, number))
        me.beat()
        return zlib.crc32(data, number)

    with me.bus.server(me.topic) as serving:
        serving.method(digest)
        serving.start()
        while not me.ending:
            time.sleep(POLL_S)  # other threads serve


def client(worker: dict) -> None:
    """Record SENT for a correct answer, CORRUPT for a wrong one, REFUSED if the server died (PeerGone)."""
    me = Worker(**worker)
    with me.bus.client(me.topic, timeout=WATCHDOG_S) as caller:
        caller.wait_for_server(WATCHDOG_S)
        while not me.stopping:
            who = me.next_identity()
            data = bytes(bodies.make(who, me.random.randrange(3000)))
            try:
                answer = caller.call("digest", me.life, me.counter, data)
            except slipring.PeerGone:
                me.write(Kind.REFUSED, 0, who, 1)
                caller.wait_for_server(POLL_S)
            else:
                right = answer == zlib.crc32(data, me.counter)
                me.write(Kind.SENT if right else Kind.CORRUPT, 0, who, 1)
                me.beat()
