# SPDX-License-Identifier: Apache-2.0
"""How much memory does a topic take as it is made, and a message in it beyond its body? In bytes.

What the files have allocated is counted, all of it: ring, tables and slots. The messages are as many as the topic holds
unread before a send is refused; what is allocated and is not their bodies is what they cost beyond them. A topic as
it comes has a slot for each 256 bytes, and tables for 64 readers and 64 writers; ``fitted`` has one for each
message of the size; ``smallest`` is the least one can ask for.
"""

from collections.abc import Iterable
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.processes import Figures
from slipring.bench.transport import Transport

TITLE = "Memory of a topic, and of a message beyond its body"
FIGURE = "topic_bytes"
FURTHER_FIGURES = ("overhead_per_message_bytes", "messages_held")
SIZES = (64, 1024, 65536)


def cases(quick: bool) -> list[Case]:
    asked = [
        Case("memory", name, {"size": size})
        for size in SIZES
        for name in ("slipring-footprint", "slipring-footprint-fitted", "iceoryx2-footprint")
    ]
    asked.append(Case("memory", "slipring-footprint-smallest", {"size": SIZES[0]}))
    return [case for case in asked if not quick or case.transport.startswith("slipring")]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    size = case.settings["size"]
    transport = kind(place, size)
    files, held = transport.footprint()
    allocated = allocated_bytes(files)
    transport.close()
    return {
        FIGURE: allocated,
        "overhead_per_message_bytes": allocated / held - size,
        "messages_held": held,
    }


def allocated_bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file())
