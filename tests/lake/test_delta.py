# SPDX-License-Identifier: Apache-2.0
"""The Delta table of a lake is brought up to its log, each entry once, also after kills.

In processes of their own: deltalake keeps an event loop for as long as its process lives.
"""

from lake import filling
from slipring.pipelines.lake import Lake
from slipring.pipelines.lake.verify import verify

MIRROR = """
    import os, signal
    from slipring.pipelines.lake import Lake, delta, kill_points
    from slipring.pipelines.lake.compact import compact

    left = kill_after
    def reached(name):
        global left
        if name == "delta committed":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    kill_points.reached = reached
    lake = Lake.open(path)
    say(delta.mirror(lake))
    if merge:
        compact(lake, keep_s=0)
    from deltalake import DeltaTable
    from pyarrow import parquet
    # Not to_pyarrow_table: Arrow's threads call the table's file system, and may do so while the process ends.
    files = [uri.removeprefix("file://") for uri in DeltaTable(lake.path / "messages").file_uris()]
    tables = [parquet.ParquetFile(file).read(["offset"], use_threads=False) for file in files]
    say(sorted(offset for table in tables for offset in table["offset"].to_pylist()), len(files))
"""


def test_a_mirror_killed_between_two_entries_and_run_again_has_each_row_once(tmp_path, processes):
    lake = Lake.create(tmp_path / "lake", table="delta")
    session = lake.begin({})
    for batch in range(5):
        filling.record(lake, session, batch, ("a", filling.messages("a", batch * 3, batch * 3 + 3)))
    variables = {"path": str(lake.path), "bus_name": None}
    victim = processes.start(MIRROR, kill_after=2, merge=False, **variables)
    assert victim.join(None) == -9
    again = processes.start(MIRROR, kill_after=0, merge=False, **variables)
    again.expect(3)
    again.expect((list(range(15)), 5))
    again.join()
    merging = processes.start(MIRROR, kill_after=0, merge=True, **variables)
    merging.expect(0)
    merging.expect((list(range(15)), 1))
    merging.join()
    assert verify(lake.path).complete


def test_a_lost_delta_log_is_made_again_from_the_lakes(tmp_path, processes):
    lake = Lake.create(tmp_path / "lake", table="delta")
    session = lake.begin({})
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 4)))
    for attempt in range(2):
        mirror = processes.start(MIRROR, kill_after=0, merge=False, path=str(lake.path), bus_name=None)
        mirror.expect(1)
        mirror.expect((list(range(4)), 1))
        mirror.join()
        (lake.path / "messages/_delta_log").rename(tmp_path / f"moved{attempt}")
