# SPDX-License-Identifier: Apache-2.0
"""A company on one topic: how it begins, so that survivors see all of it, and ends, so that it can be audited."""

import slipring
from crash import bodies
from crash import journal as jn
from crash.actors import TYPES
from crash.company import Company, Part
from support.waiting import WATCHDOG_S


class Ended:
    """Stands for a process that ended in good order."""

    code, alive = 0, False


class Storm(Company):
    def start_all(self) -> None:
        """Readers first and one by one, so that those that live on see the topic from its beginning."""
        for part in sorted(self.parts, key=lambda part: part.publishes):
            self.start(part)
            if not part.mortal and not part.publishes:
                self.until(
                    lambda part=part: part.lives[-1][2].exists() and jn.read(part.lives[-1][2]), "start"
                )

    def state(self) -> object:
        with slipring.Bus("test", root=str(self.root)) as bus:
            return bus.stats(self.topic)

    def finish(self) -> dict:
        """Ends all in good order; the topic's counters when nobody publishes and the dead are swept."""
        self.board.order_stop()
        for part in self.parts:
            if part.target == "publisher":
                self.join(part)
        for part in self.parts:
            if part.target == "member":
                self.until(lambda part=part: self._quiet(part), part.name)
        with slipring.Bus("test", root=str(self.root)) as bus:
            self._send_last(bus)
            bus.subscriber(self.topic).close()
            stats = bus.stats(self.topic)
            self.board.order_end(stats["tail"])
            for part in self.parts:
                if part.target != "publisher":
                    self.join(part)
            assert [r for r in stats["readers"] if not r["alive"]] == []
            assert [p for p in stats["publishers"] if not p["alive"]] == []
            assert bus.doctor() == []
            return bus.stats(self.topic)

    def _send_last(self, bus) -> None:
        """A message behind all others, so that every reader can tell that it has reached the end."""
        incarnation = self.next_incarnation()
        path = self.work / f"closing.{incarnation}"
        with bus.publisher(self.topic, sender=f"i{incarnation}") as pub:
            sequence = pub.send(bodies.make(incarnation, 0, 100), type=TYPES[0], timeout=WATCHDOG_S)
        journal = jn.Journal(path)
        journal.write(jn.SENT, 0, sequence, 1)
        journal.close()
        closing = Part("closing", "publisher", {}, False)
        closing.lives.append((incarnation, Ended(), path))
        self.parts.append(closing)

    def _quiet(self, part: Part) -> bool:
        return any(record[0] == jn.QUIET for record in jn.read(part.lives[-1][2]))
