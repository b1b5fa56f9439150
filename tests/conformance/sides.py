# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison: a bus, the handles made from it, and what is left of a call's outcome once
everything that may differ (times, process numbers, memory) is taken away.
"""

from dataclasses import dataclass, field

import slipring

HANDLES = ("pubs", "subs", "members", "loans", "views")


@dataclass
class Side:
    bus: object
    pubs: list = field(default_factory=list)
    subs: list = field(default_factory=list)
    members: list = field(default_factory=list)
    loans: list = field(default_factory=list)  # (loan, its memory)
    views: list = field(default_factory=list)  # (view, its message)

    def close(self) -> None:
        for loan, _ in self.loans:
            loan.__exit__(KeyError, KeyError(), None)
        for view, _ in self.views:
            view.__exit__(None, None, None)
        for name in HANDLES:
            getattr(self, name).clear()
        self.bus.close()


def plain(value) -> object:
    """Comparable: values by value, handles by kind."""
    if isinstance(value, slipring.Message):
        return value.topic, value.seq, value.sender, value.type, bytes(value.body)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "to_pylist"):
        rows = value.to_pylist()
        return [{name: row[name] for name in row if name != "timestamp"} for row in rows]
    if isinstance(value, (int, str, bytes, bool, dict, type(None))):
        return value
    return type(value).__name__.removeprefix("Stepped")


def outcome(call, side: Side) -> object:
    try:
        return "returned", plain(call(side))
    except slipring.SlipringError as error:
        return "raised", type(error).__name__, error.argument
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        return "raised", type(error).__name__


def account(sub) -> dict:
    return sub.stats()


STATS = (
    "delivery writers capacity slots max_readers max_writers max_cursors mode published abandoned bytes tail"
)
READER = "entry alive kind held"  # the rest is in the account, and lags behind it when conflating
WRITER = "entry alive sender published bytes"
CURSOR = "name position lag attached expires_s"


def topic_facts(bus, topic: str) -> dict:
    """Return `stats` without the values that depend on memory, processes and time."""
    stats = bus.stats(topic)
    tables = {"readers": READER, "publishers": WRITER, "cursors": CURSOR}
    facts = {name: stats[name] for name in STATS.split()}
    for table, columns in tables.items():
        facts[table] = [{name: row[name] for name in columns.split()} for row in stats[table]]
    return facts
