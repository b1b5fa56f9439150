# SPDX-License-Identifier: Apache-2.0
"""Lakes of an earlier version: recorded by commit 81cb737, packed in fixtures/lakes-81cb737.tar.xz.

parquet   300 messages of the reliable topic imu; 300 of the lossy topic camera, of which a ring of 16 slots kept few.
          Three sessions: two that ended, compacted into one file for each topic, and an open one with its checkpoint.
          Sessions without messages fill the log up to a snapshot.
delta     50 messages of each topic, with a Delta table
"""

import json
import tarfile
from pathlib import Path

from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.log import sealed
from slipring.pipelines.record.begin import Subscription, description

ARCHIVE = Path(__file__).with_name("fixtures") / "lakes-81cb737.tar.xz"


def unpack(directory):
    """Unpack the lakes, and return their paths."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")
    return directory / "parquet", directory / "delta"


def move_open_session(path, bus):
    """Make the open session one of this bus on this host, and return its id."""
    (session,) = (one for one in Lake.open(path).state.sessions.values() if not one.finished)
    for entry_path in sorted((path / "_log").glob("*.json")):
        entry = json.loads(entry_path.read_bytes())["entry"]
        if (entry["kind"], entry.get("session")) == ("session", session.id):
            entry["about"] |= description(Subscription.of("imu,camera"), bus)
            entry_path.write_bytes(sealed("entry", entry))
    return session.id
