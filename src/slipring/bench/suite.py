# SPDX-License-Identifier: Apache-2.0
"""What can be measured: questions, and transports that answer them, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from slipring.bench.questions import QUESTIONS
from slipring.bench.transport import Transport

OURS = "slipring"


class Home(NamedTuple):
    """Where a transport lives, and the package it needs (None: the standard library)."""

    module: str
    package: str | None
    also: str | None = None  # a further package, which one of our extras brings
    polls: bool = False  # asks again and again instead of sleeping


@dataclass(frozen=True)
class Suite:
    """``questions`` have TITLE, FIGURE, cases() and measure(); see questions/__init__.py."""

    questions: Mapping[str, ModuleType]
    homes: Mapping[str, Home]

    def is_ours(self, transport: str) -> bool:
        return transport in self.homes and self.homes[transport].package == OURS

    def transport_class(self, name: str) -> type[Transport]:
        found: type[Transport] = import_module(self.homes[name].module).TRANSPORTS[name]
        return found


_OURS = "slipring.bench.ours"
OWN = Suite(
    QUESTIONS,
    {
        "slipring": Home(_OURS, OURS),
        "slipring-one-writer": Home(_OURS, OURS),
        "slipring-sleeping": Home(_OURS, OURS),
        "slipring-in-place": Home(_OURS, OURS),
        "slipring-into": Home(_OURS, OURS),
        "slipring-arrow": Home(_OURS, OURS, "pyarrow"),
        "slipring-lossy": Home(_OURS, OURS),
        "slipring-lists": Home(_OURS, OURS),
        "slipring-calls": Home(_OURS, OURS, "msgspec"),
        "slipring-calls-raw": Home(_OURS, OURS),
        "slipring-calls-async": Home(_OURS, OURS, "msgspec"),
        "memmove": Home("slipring.bench.questions.bandwidth", OURS),
    },
)
