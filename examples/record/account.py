# SPDX-License-Identifier: Apache-2.0
"""What the rings held is what was recorded and what was lost."""

import json
from pathlib import Path

import slipring

summary = json.loads(Path("summary.json").read_text())
with slipring.Bus("example-record") as bus:
    for topic, counts in summary["topics"].items():
        stats, name = bus.stats(topic), topic.removeprefix("robot.")
        assert stats["retained"] == counts["messages"] + counts["lost"]
        print(f"{name}: {stats['published']} published, {stats['retained']} in the ring, ", end="")
        print(f"{counts['messages']} recorded, {counts['lost']} lost")
