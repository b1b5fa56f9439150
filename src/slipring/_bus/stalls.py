# SPDX-License-Identifier: Apache-2.0
"""Messages that were claimed and are not committed by a living process: subscribers wait for them, and when the ring
has gone round, so do publishers. A claim of an instant is part of every send; one that lasts is a stall.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from slipring.errors import SlipringError

Stats = Callable[[str], dict[str, Any]]

_LASTS_S = 0.2  # a claim that is still open after this long is reported


def _state(pid: int) -> str | None:
    """The state letter of a process of this pid namespace, as in /proc: T is stopped, t stopped by a debugger."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return None


def _first_claim(stats: Stats, name: str) -> dict[str, Any] | None:
    """The claim that subscribers meet first, and how many messages are behind it."""
    try:
        found = stats(name)
    except SlipringError:
        return None  # gone, or damaged, which others report
    claims: list[dict[str, Any]] = found["open_claims"]
    return {**claims[0], "behind": found["tail"] - claims[0]["seq"] - 1} if claims else None


def _words(name: str, claim: dict[str, Any]) -> tuple[str, str, str]:
    pid = claim["pid"]
    stopped = _state(pid) in ("T", "t")
    why = "which is stopped" if stopped else "which has an open loan, or views of one"
    problem = (
        f"subscribers wait for message {claim['seq']}, claimed and not committed by process {pid} "
        f"(sender {claim['sender']!r}), {why}; {claim['behind']} messages are behind it"
    )
    let_go = f"let it go on (kill -CONT {pid})" if stopped else "end its loan"
    return name, problem, f"{let_go}, or end the process"


def examine(names: list[str], stats: Stats) -> list[tuple[str, str, str]]:
    """(topic, problem, action) for each topic whose subscribers wait for a claim."""
    before = {name: claim for name in names if (claim := _first_claim(stats, name))}
    if not before:
        return []
    time.sleep(_LASTS_S)
    after = {name: _first_claim(stats, name) for name in before}
    return [_words(name, now) for name, now in after.items() if now and now["seq"] == before[name]["seq"]]
