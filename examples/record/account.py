# SPDX-License-Identifier: Apache-2.0
"""What was published is what was recorded and what was lost."""

import json
from pathlib import Path

import slipring

summary = json.loads(Path("summary.json").read_text())
with slipring.Bus("example-record") as bus:
    for topic, counts in summary["topics"].items():
        published = bus.stats(topic)["published"]
        assert published == counts["messages"] + counts["lost"]
        name = topic.removeprefix("robot.")
        print(f"{name}: {published} published, {counts['messages']} recorded, {counts['lost']} lost")
