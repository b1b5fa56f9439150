# SPDX-License-Identifier: Apache-2.0
"""One thing to measure: a question put to a transport, with settings; it goes to its process as JSON."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    question: str
    transport: str
    settings: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Case":
        return cls(**json.loads(text))

    @property
    def key(self) -> str:
        """Names the case in results: transport and settings, as in ``pyzmq size=64``."""
        return " ".join([self.transport, *(f"{name}={value}" for name, value in self.settings.items())])
