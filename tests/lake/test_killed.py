# SPDX-License-Identifier: Apache-2.0
"""A commit or compaction is killed at each kill point and repeated: the recording is complete."""

from pathlib import Path

import pytest

from lake import filling
from slipring.pipelines.lake import Lake, kill_points
from slipring.pipelines.lake.compact import compact
from slipring.pipelines.lake.verify import verify

WRITER = """
    import os, signal, sys
    sys.path.insert(0, tests)
    from lake import filling
    from slipring.pipelines.lake import Lake, kill_points
    from slipring.pipelines.lake.compact import compact
    from slipring.pipelines.lake.stage import sweep

    left = hits
    def reached(name):
        global left
        if name == place:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    kill_points.reached = reached

    lake = Lake.open(path)
    sweep(lake, "record")
    (session,) = lake.state.sessions
    for batch in range(lake.state.sessions[session].last_batch + 1, 6):
        stage = filling.staged(lake, *[(t, filling.messages(t, batch * 10, batch * 10 + 10)) for t in "ab"])
        files = stage.files()
        kill_points.reached("batch staged")
        lake.commit(session, batch, files)
        stage.remove()
        if batch % 2:
            compact(lake, keep_s=0)
    say("finished")
"""


@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize(
    "place", [place for place in kill_points.KILL_POINTS if not place.startswith("delta")]
)
def test_a_recording_is_complete_after_a_kill_at_each_point(lake, session, processes, place, hits):
    variables = {"tests": str(Path(__file__).parents[1]), "path": str(lake.path)}
    victim = processes.start(WRITER, bus_name=None, place=place, hits=hits, **variables)
    assert victim.join(None) == -9, victim.stderr
    seen = Lake.open(lake.path)
    committed = seen.state.sessions[session].last_batch + 1
    assert verify(lake.path).complete, "what was committed is whole, even before the writer is restarted"
    assert filling.rows(seen, "a") == filling.expected("a", 10 * committed)
    assert filling.listed(seen, "a") == list(range(10 * committed)), "other programs find each row once"
    again = processes.start(WRITER, bus_name=None, place="", hits=0, **variables)
    again.expect("finished")
    again.join()
    lake.refresh()
    verdict = verify(lake.path)
    assert verdict.complete, verdict.problems
    for topic in "ab":
        assert filling.rows(lake, topic) == filling.expected(topic, 60)
    compact(lake, keep_s=0)
    assert verify(lake.path).complete and filling.rows(lake, "a") == filling.expected("a", 60)
