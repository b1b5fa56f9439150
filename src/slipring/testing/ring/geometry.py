# SPDX-License-Identifier: Apache-2.0
"""The settings of a topic: chosen at its creation, compared at every later opening. The rules are the core's."""

from __future__ import annotations

from dataclasses import dataclass

from slipring.errors import BadArgument, TopicExists

_MOST = {
    "capacity": 1 << 40,
    "slots": 1 << 28,
    "max_writers": 4096,
    "max_readers": 65536,
    "max_cursors": 4096,
}
_DELIVERIES = ("lossy", "reliable")
_WRITERS = ("many", "one")
_CONTENTS = ("messages", "frames")


def _power_of_two(value: int, least: int) -> int:
    return max(least, 1 << (value - 1).bit_length())


def check_mode(mode: int) -> None:
    """Check the mode of files; 0 if it is not given."""
    if mode and mode & 0o600 != 0o600:
        text = f"mode={mode:#o} does not let the owner read and write"
        raise BadArgument(text, argument="mode")


def _check_limits(given: dict[str, int]) -> None:
    check_mode(given.get("mode", 0))
    for name, most in _MOST.items():
        if given.get(name, 0) > most:
            text = f"{name}={given[name]} is out of range: at most {most}"
            raise BadArgument(text, argument=name)


@dataclass(frozen=True, slots=True)
class Geometry:
    capacity: int
    slots: int
    delivery: str
    writers: str
    mode: int
    max_readers: int
    max_writers: int
    max_cursors: int
    content: str

    @classmethod
    def choose(cls, given: dict[str, int]) -> Geometry:
        """Return the settings that `settings.topic_settings` gives, with defaults for the others."""
        _check_limits(given)
        capacity = _power_of_two(given.get("capacity", 16 << 20), 4096)
        slots = given.get("slots") or min(max(capacity // 256, 64), 1 << 20)
        writers = _WRITERS[given.get("writers", 0)]
        return cls(
            capacity=capacity,
            slots=_power_of_two(slots, 16),
            delivery=_DELIVERIES[given.get("delivery", 0)],
            writers=writers,
            mode=given.get("mode", 0o600),
            max_readers=given.get("max_readers", 64),
            max_writers=1 if writers == "one" else given.get("max_writers", 64),
            max_cursors=given.get("max_cursors", 16),
            content=_CONTENTS[given.get("content", 0)],
        )

    def match(self, given: dict[str, int], topic: str) -> None:
        """Refuse settings that differ from those of the existing topic."""
        _check_limits(given)
        content = _CONTENTS[given.get("content", 0)]
        if content != self.content:
            instead = "bus.frames()" if self.content == "frames" else "bus.publisher()"
            text = (
                f"topic '{topic}' carries {self.content}, asked for {content}: use {instead}, or another name"
            )
            raise TopicExists(text, argument="topic", found=self.content, asked=content)
        asked = Geometry.choose({**self._as_given(), **given})
        for name in ("delivery", "writers", "capacity", "slots", "max_writers", "max_readers", "max_cursors"):
            found, wanted = getattr(self, name), getattr(asked, name)
            if name in given and found != wanted:
                is_word = isinstance(wanted, str)
                shown, there = (f'"{wanted}"', f'"{found}"') if is_word else (given[name], found)
                text = f"topic '{topic}' exists with {name}={there}, asked for {shown}"
                hint = f"omit {name} to use the existing value, or remove the topic first"
                asked_for = wanted if is_word else str(given[name])
                raise TopicExists(f"{text}: {hint}", argument=name, found=str(found), asked=asked_for)

    def _as_given(self) -> dict[str, int]:
        limits = {name: int(getattr(self, name)) for name in _MOST}
        words = {"delivery": _DELIVERIES.index(self.delivery), "writers": _WRITERS.index(self.writers)}
        return {**limits, **words, "mode": self.mode}
