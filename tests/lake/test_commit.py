# SPDX-License-Identifier: Apache-2.0
"""The log decides what belongs to the recording: everything that it names, once, and nothing else."""

import threading

import pytest

from lake import filling
from slipring import BadArgument
from slipring.pipelines.lake import DamagedLake, Lake, LakeBusy, NotALake
from slipring.pipelines.lake.generations import contents
from slipring.pipelines.lake.locks import lock
from slipring.pipelines.lake.log import SNAPSHOT_EVERY, link_new, sealed


def test_a_batch_is_committed_once_and_seen_by_others(lake, session):
    assert filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    assert not filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    assert filling.record(lake, session, 1, ("a", filling.messages("a", 5, 9)))
    other = Lake.open(lake.path)
    assert filling.rows(other, "a") == filling.expected("a", 9)
    assert other.committed(session, 1) and not other.committed(session, 2)
    assert not list((lake.path / "_staging").iterdir())


def test_holes_are_accounted_for(lake, session):
    holes = filling.hole("a", 3, 10, 7) + filling.hole("a", 13, 1, 0)
    rows = filling.messages("a", 0, 3) + holes + filling.messages("a", 14, 20)
    filling.record(lake, session, 0, ("a", rows))
    (found,) = contents(lake)
    assert (found.messages, found.lost, found.abandoned) == (9, 7, 4)
    assert [(run.first, run.end) for run in found.runs] == [(0, 20)]


def test_a_file_that_the_log_does_not_name_is_not_part_of_the_recording(lake, session):
    filling.record(lake, session, 0, ("a", filling.messages("a", 0, 5)))
    filling.staged(lake, ("a", filling.messages("a", 5, 9)))
    (lake.path / "messages/topic=a/date=2026-01-01/other.parquet").write_bytes(b"PAR1")
    assert filling.rows(Lake.open(lake.path), "a") == filling.expected("a", 5)


def session_entry(name):
    return {"kind": "session", "session": name, "time_ns": 1, "about": {}}


def test_a_log_entry_is_not_replaced(lake):
    number = lake.log.append(lambda _: session_entry("first"))
    path = lake.log.path(number)
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        link_new(path, sealed("entry", session_entry("second")))
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".*")), "the temporary file is removed"


def test_a_writer_whose_number_was_taken_decides_again(lake):
    """Another writer takes the number after the first decision and before the commit."""
    other, taken = Lake.open(lake.path), []

    def decide(state):
        if not taken:
            taken.append(other.log.append(lambda _: session_entry("other")))
        return session_entry(f"mine after {list(state.sessions)}")

    number = lake.log.append(decide)
    assert taken == [number - 1]
    assert lake.log.entry(number - 1) == session_entry("other")
    assert lake.log.entry(number) == session_entry("mine after ['other']")


def test_writers_that_race_for_a_number_both_commit(lake):
    sessions = [lake.begin({"n": n}) for n in range(2)]
    done = []

    def write(session, topic):
        mine = Lake.open(lake.path)
        for batch in range(20):
            first = batch * 3
            done.append(
                filling.record(mine, session, batch, (topic, filling.messages(topic, first, first + 3)))
            )

    threads = [threading.Thread(target=write, args=pair) for pair in zip(sessions, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(done) and len(done) == 40
    lake.refresh()
    assert filling.rows(lake, "a") == filling.expected("a", 60) and filling.rows(
        lake, "b"
    ) == filling.expected("b", 60)


def test_a_long_log_read_from_its_snapshot_gives_the_same_state(lake, session):
    for batch in range(SNAPSHOT_EVERY + 5):
        filling.record(lake, session, batch, ("a", filling.messages("a", batch, batch + 1)))
    assert (lake.path / "_log" / f"{SNAPSHOT_EVERY:08d}.snapshot").exists()
    hidden = lake.path / "_log" / "00000003.json"
    hidden.rename(lake.path / "hidden")
    assert Lake.open(lake.path).state == lake.state
    (lake.path / "hidden").rename(hidden)
    (lake.path / "_log" / f"{SNAPSHOT_EVERY:08d}.snapshot").write_text("{")
    assert Lake.open(lake.path).state == lake.state


def test_one_recorder_at_a_time(lake):
    with (
        lock(lake, "record"),
        pytest.raises(LakeBusy, match=r"process \d+ records into"),
        lock(lake, "record"),
    ):
        pass
    with lock(lake, "record"):
        pass


def test_a_directory_that_is_not_a_lake_is_refused(tmp_path):
    with pytest.raises(NotALake, match=r"is not a lake: it has no _slipring\.json"):
        Lake.open(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(
        NotALake, match=r"neither a lake nor empty \(it has 'notes.txt'\): choose another directory"
    ):
        Lake.create(tmp_path)
    with pytest.raises(NotALake, match=r"notes\.txt is a file"):
        Lake.create(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('{"format": "other"}', NotALake, "is not the marker of a lake"),
        ('{"format": "slipring-lake", "version": 2, "id": "x", "table": "parquet"}', NotALake, "version 2"),
        ('{"format": "slipring-lake", "version": 1}', DamagedLake, "missing required field `id`"),
        ("{", DamagedLake, "is damaged"),
        (
            '{"format": "slipring-lake", "version": 1, "id": 7, "table": "parquet"}',
            DamagedLake,
            "id`, found 7",
        ),
        (
            '{"format": "slipring-lake", "version": 1, "id": "x", "table": "csv"}',
            DamagedLake,
            "table`, found 'csv'",
        ),
    ],
)
def test_the_marker_of_a_lake_is_checked(lake, text, error, message):
    (lake.path / "_slipring.json").write_text(text)
    with pytest.raises(error, match=message):
        Lake.open(lake.path)


def test_a_table_format_that_differs_from_that_of_the_lake_is_refused(lake):
    with pytest.raises(BadArgument, match="has the format parquet, not delta"):
        Lake.create(lake.path, table="delta")


@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_log_names_its_entry(lake, session, damage):
    for batch in range(3):
        filling.record(lake, session, batch, ("a", filling.messages("a", batch, batch + 1)))
    entry = lake.path / "_log" / "00000002.json"
    data = entry.read_bytes()
    if damage == "gone":
        entry.unlink()
    else:
        entry.write_bytes(data[:40] if damage == "cut" else data.replace(b'"batch":1', b'"batch":7'))
    with pytest.raises(DamagedLake, match=r"00000002\.json is damaged"):
        Lake.open(lake.path)
