# SPDX-License-Identifier: Apache-2.0
"""A topic: its ring, and the tables of its publishers and subscribers. Entries of killed handles stay in the tables
until the next handle attaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slipring._bus.settings import START_SEQ
from slipring.errors import BadArgument, Busy, SchemaMismatch, TooManyReaders, TooManyWriters, TopicGone

from .cursors import Cursors
from .geometry import Geometry
from .reader import Options, Reader
from .ring import Ring

if TYPE_CHECKING:
    from ..frames.pool import Pool


@dataclass(slots=True)
class Writer:
    number: int
    index: int
    sender: str
    published: int = 0
    bytes: int = 0
    alive: bool = True


class Topic:
    def __init__(
        self, name: str, geometry: Geometry, schema: bytes | None, generation: int, now_ns: int
    ) -> None:
        self.name = name
        self.geometry = geometry
        self.schema = schema
        self.generation = generation
        self.created_ns = now_ns
        self.gone = False
        self.pool: Pool | None = None  # the buffers of a frames topic
        self.ring = Ring(geometry.capacity, geometry.slots)
        self.writers: list[Writer] = []
        self.readers: list[Reader] = []
        self.cursors = Cursors(name, geometry.max_cursors)

    @property
    def reliable(self) -> bool:
        return self.geometry.delivery == "reliable"

    def match(self, given: dict[str, Any]) -> None:
        """Refuse settings, and a schema, that are not those of this topic."""
        self.geometry.match(given, self.name)
        asked: bytes | None = given.get("schema")
        if asked is not None and asked != self.schema:
            found = "no schema" if self.schema is None else f"a schema of {len(self.schema)} bytes"
            wanted = f"{'a schema' if self.schema is None else 'another one'} of {len(asked)} bytes"
            text = f"topic '{self.name}' exists with {found}, asked for {wanted}"
            hint = "omit schema to use the existing one, or remove the topic first"
            raise SchemaMismatch(f"{text}: {hint}", found=found, asked=wanted)

    @property
    def is_frames(self) -> bool:
        return self.geometry.content == "frames"

    def check(self) -> None:
        if self.gone:
            raise TopicGone(f"topic '{self.name}' was removed", argument="topic")

    def hold(self, now_ns: int) -> int:
        """Return the lowest sequence that must not be overwritten."""

        def holds() -> Iterator[int]:
            yield self.ring.tail
            yield from self.ring.open
            for reader in self.readers:
                if reader.alive:
                    yield from reader.holds()
            yield from self.cursors.holds(now_ns) if self.reliable else ()

        return min(holds())

    # Coming and going

    def sweep(self, now_ns: int) -> int:
        """Remove entries of killed handles, and expired cursors. Return how many entries."""
        dead = self.dead()
        self.writers = [writer for writer in self.writers if writer.alive]
        self.readers = [reader for reader in self.readers if reader.alive]
        self.cursors.sweep(now_ns)
        return dead

    def dead(self) -> int:
        """Return the number of entries of killed handles."""
        return sum(not writer.alive for writer in self.writers) + sum(not one.alive for one in self.readers)

    @staticmethod
    def _free_index(used: set[int | None], most: int) -> int | None:
        return next((index for index in range(most) if index not in used), None)

    def attach_writer(self, number: int, sender: str, now_ns: int) -> Writer:
        self.sweep(now_ns)
        index = self._free_index({writer.index for writer in self.writers}, self.geometry.max_writers)
        if index is None and self.geometry.writers == "one":
            text = f"topic '{self.name}' has writers=\"one\" and already has a live publisher"
            raise Busy(text, argument="writers")
        if index is None:
            text = f"topic '{self.name}' already has max_writers={self.geometry.max_writers} live publishers"
            raise TooManyWriters(text, argument="max_writers")
        writer = Writer(number, index, sender)
        self.writers.append(writer)
        return writer

    def attach_reader(self, number: int, options: Options, is_new: bool, now_ns: int) -> Reader:
        """is_new: the reader was created before the topic, so that all messages are newer."""
        reliable = self._wants_reliable(options)
        self.sweep(now_ns)
        index = self._free_index({reader.index for reader in self.readers}, self.geometry.max_readers)
        if index is None and (reliable or options.cursor is not None):
            most = f"max_readers={self.geometry.max_readers} live subscribers"
            text = f"the topic already has {most}: use lossy=True, or create it with a larger max_readers="
            raise TooManyReaders(text, argument="max_readers")
        reader = Reader(number, self.ring, options, index=index, reliable=reliable)
        cursor = None if options.cursor is None else self.cursors.find(options.cursor)
        if cursor is not None:
            reader.go_to(START_SEQ, cursor.position)
        elif is_new and options.start != START_SEQ:
            reader.go_to(START_SEQ, 0)
        else:
            reader.go_to(options.start, options.start_seq)
        reader.visible = reader.position if is_new else self.ring.tail
        if options.cursor is not None:
            self.cursors.attach(options.cursor, reader, now_ns)
        self.readers.append(reader)
        return reader

    def _wants_reliable(self, options: Options) -> bool:
        if options.lossy == 0 and not self.reliable:
            text = 'the topic\'s delivery is "lossy": a subscriber with lossy=False needs delivery="reliable"'
            raise BadArgument(text, argument="lossy")
        if options.lossy == 1 and options.cursor is not None and self.reliable:
            text = "a cursor on a reliable topic loses no messages: omit lossy=True"
            raise BadArgument(text, argument="lossy")
        return self.reliable and options.lossy != 1

    def detach_writer(self, writer: Writer, *, orderly: bool) -> None:
        """Abandon its open claims."""
        for seq in [seq for seq, entry in self.ring.open.items() if entry.writer == writer.number]:
            # defect stepped_dead_claim_stays_open: pass
            self.ring.abandon(seq)
        writer.alive = False
        if orderly and writer in self.writers:
            self.writers.remove(writer)

    def detach_reader(self, reader: Reader, now_ns: int, *, orderly: bool) -> None:
        """End its holds. A cursor stays where it was committed; only an orderly end updates its time."""
        reader.settle()
        reader.alive = False
        self.cursors.detach(reader, now_ns if orderly else None)
        if orderly and reader in self.readers:
            self.readers.remove(reader)
