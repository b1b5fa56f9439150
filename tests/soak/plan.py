# SPDX-License-Identifier: Apache-2.0
"""Two topics, four publishers and eight subscribers; four of the twelve are in C.

Half of them run for the whole soak, so that growth becomes visible. The lossy ring has `slots` messages. The napping
reader sleeps until more have passed, so it must lose and count some. The reliable ring holds minutes of messages, so
that a stalled Spark does not stop the publishers.
"""

from typing import Any

from storm.strikes import Plan
from storm.supervisor import Role

BUS = "soak"
LOSSY, RELIABLE = 0, 1
TOPICS = ["lossy", "reliable"]
CONFLATING = "lossy-newest"
NAPPING = "lossy-napping"
CURSOR_READER = "reliable-cursor"
CURSOR = "reading"
PRELOAD = ["storm.roles", "storm.native", "pyarrow"]
STRIKES = Plan(every_s=(2.0, 2.0), pause_share=0.2, pause_s=(0.2, 1.5), dies_paused_share=0.3)
_PERIOD_S = 0.03  # of a publisher
_LARGEST_BYTES = 4 << 20
# Otherwise glibc keeps up to twice the largest message after a free, which looks like growth for an hour.
STEADY_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}


def settings(slots: int) -> dict[str, dict[str, Any]]:
    return {
        "lossy": {"capacity": "32MiB", "slots": slots, "delivery": "lossy"},
        "reliable": {"capacity": "64MiB", "slots": 16384, "delivery": "reliable"},
    }


def _publisher(name: str, topic: int, mortal: bool, ways: list[str], in_c: bool = False) -> Role:
    config = {"ways": ways, "usual": 4096, "largest": _LARGEST_BYTES, "smallest": 0}
    config |= {"aborted": 0.05, "period_s": _PERIOD_S}
    return Role(name, "storm.roles:publisher", TOPICS[topic], config, mortal, in_c)


def _reader(
    name: str, topic: int, mortal: bool, take: str, in_c: bool = False, nap: int = 0, **how: Any
) -> Role:
    config: dict[str, Any] = {"take": take, "settings": how, "largest": _LARGEST_BYTES, "account_s": 1.0}
    config |= {"hold_s": 0.02, "commits": 0.05} | ({"nap_messages": nap} if nap else {})
    config |= {"most": 200} if take in ("recv_many", "recv_batch") else {}  # buffers of one size
    return Role(name, "storm.roles:reader", TOPICS[topic], config, mortal, in_c)


def roles(slots: int) -> list[Role]:
    oldest = {"start": "oldest"}
    every_way = ["send", "send", "send_many", "loan"]
    return [
        _reader("lossy-into", LOSSY, False, "recv_into", **oldest),
        _reader(CONFLATING, LOSSY, True, "recv", conflate=True, **oldest),
        _reader(NAPPING, LOSSY, False, "recv_many", nap=slots * 3 // 2),
        _reader("lossy-copy-c", LOSSY, True, "recv", in_c=True),
        _reader("reliable-batch", RELIABLE, False, "recv_batch", **oldest),
        _reader("reliable-held-c", RELIABLE, False, "view", in_c=True, **oldest),
        _reader(CURSOR_READER, RELIABLE, True, "recv", cursor=CURSOR, **oldest),
        _reader("reliable-held", RELIABLE, True, "view"),
        _publisher("lossy-steady", LOSSY, False, every_way),
        _publisher("lossy-mortal-c", LOSSY, True, every_way, in_c=True),
        _publisher("reliable-steady-c", RELIABLE, False, every_way, in_c=True),
        _publisher("reliable-mortal", RELIABLE, True, ["send", "send_many", "loan"]),
    ]


def feels_gaps(role: Role) -> bool:
    """Return whether the role runs for the whole soak and never pauses on purpose."""
    return not role.mortal and role.name != NAPPING
