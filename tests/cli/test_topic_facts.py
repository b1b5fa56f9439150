# SPDX-License-Identifier: Apache-2.0
"""ls, info, rm: what there is, all about it, and away with it."""

import json
import os
import pty
import re
import termios

import pytest

from support.waiting import WATCHDOG_S

COLUMNS = "TOPIC DELIVERY CAPACITY RETAINED PUBLISHED PUBLISHERS READERS CURSORS"


@pytest.fixture
def busy_topic(bus):
    """A reliable topic with one publisher, two readers and a cursor that has three messages before it."""
    publisher = bus.publisher("busy", sender="gyro", delivery="reliable", capacity="64KiB")
    behind = bus.subscriber("busy", start="oldest")
    tap = bus.subscriber("busy", lossy=True)
    marked = bus.subscriber("busy", start="oldest", cursor="lake")
    publisher.send_many([b"123", b"456", b"789"])
    tap.recv()
    marked.close()
    return publisher, behind, tap


def test_ls_of_an_empty_bus_is_empty(cli):
    assert cli.run("ls").stdout == b""
    assert cli.records("ls", "--format", "json") == [[]]


def test_ls_shows_one_line_of_facts_for_each_topic(cli, bus, busy_topic):
    bus.create("quiet", capacity="2MiB")
    heading, busy, quiet = (" ".join(line.split()) for line in cli.run("ls").stdout.decode().splitlines())
    assert heading == COLUMNS
    assert busy == "busy reliable 64 KiB 3 3 1 2 1"
    assert quiet == "quiet lossy 2 MiB 0 0 0 0 0"


def test_ls_in_json_has_the_same_facts_as_numbers(cli, busy_topic):
    ((topic,),) = cli.records("ls", "--format", "json")
    expected = {"topic": "busy", "delivery": "reliable", "capacity": 65536, "retained": 3, "bytes": 9}
    users = {"published": 3, "publishers": 1, "readers": 2, "cursors": 1}
    assert {**topic, **expected, **users} == topic


@pytest.mark.foreign_files
def test_ls_shows_the_sound_topics_beside_a_corrupt_one_and_ends_with_1(cli, bus):
    bus.create("bad")
    bus.create("good")
    with open(os.path.join(bus.path, "bad.ring"), "r+b") as ring:
        ring.write(b"\xa5" * 4096)
    outcome = cli.run("ls", code=1)
    assert [line.split()[0] for line in outcome.stdout.splitlines()] == [b"TOPIC", b"good"]
    assert outcome.stderr.startswith("slipring: error: topic 'bad': ")
    assert "doctor" in outcome.stderr and outcome.stderr.count("\n") == 1


def test_info_in_json_is_all_of_stats(cli, bus, busy_topic):
    (record,) = cli.records("info", "busy", "--format", "json")
    stats = json.loads(json.dumps(bus.stats("busy")))
    for facts in (record, stats):
        for cursor in facts["cursors"]:
            assert cursor.pop("age_s") >= 0
    assert record == {"topic": "busy", **stats}


def test_info_shows_readers_with_lag_and_loss_and_cursors_with_age(cli, busy_topic):
    text = cli.run("info", "busy").stdout.decode()
    facts, *sections = text.split("\n\n")
    assert "capacity" in facts and "64 KiB" in facts and "reliable" in facts
    tables = {section.split("\n")[0]: section.strip().split("\n")[1:] for section in sections}
    assert list(tables) == ["publishers", "readers", "cursors"]
    assert [len(rows) for rows in tables.values()] == [2, 3, 2]
    assert "gyro" in tables["publishers"][1]
    headings = [word.lower() for word in tables["readers"][0].split()]
    lags = [row.split()[headings.index("lag")] for row in tables["readers"][1:]]
    assert sorted(lags) == ["2", "3"] and "lost" in headings
    assert {"NAME", "LAG", "AGE"} <= set(tables["cursors"][0].split())
    assert tables["cursors"][1].split()[0] == "lake"


def test_names_from_a_topic_cannot_command_the_terminal(cli, bus):
    publisher = bus.publisher("t", sender="\x1b[2Jgyro\n")
    text = cli.run("info", "t").stdout.decode()
    assert "\\x1b[2Jgyro\\n" in text and "\x1b" not in text
    publisher.close()


def test_rm_removes_the_named_topics_once(cli, bus):
    for topic in ("a", "b", "c"):
        bus.create(topic)
    cli.run("rm", "--yes", "a", "c", "a")
    assert bus.topics() == ["b"]
    cli.run("rm", "--yes", "--missing-ok", "a", "b")
    assert bus.topics() == []


def test_rm_removes_nothing_when_one_topic_is_missing(cli, bus):
    bus.create("a")
    assert "nope" in cli.run("rm", "--yes", "a", "nope", code=1).stderr
    assert bus.topics() == ["a"]


def test_rm_without_a_terminal_needs_yes(cli, bus):
    bus.create("a")
    assert "--yes" in cli.run("rm", "a", stdin=b"y\n", code=2).stderr
    assert bus.topics() == ["a"]


@pytest.mark.parametrize(
    ("answer", "code", "left"), [(b"y\n", 0, []), (b"n\n", 1, ["a"]), (b"\x04", 1, ["a"])]
)
def test_rm_asks_on_a_terminal_and_names_the_users(cli, bus, answer, code, left):
    publisher = bus.publisher("a")
    terminal, inner = pty.openpty()
    try:
        asked = cli.start("rm", "a", stdin=inner)
        os.close(inner)
        question = b""
        while b"? " not in question:
            question += asked.stderr.read1()
        assert b"Remove topic a" in question and b"1 publisher," in question
        os.write(terminal, answer)
        assert cli.finish(asked).code == code
    finally:
        os.close(terminal)
    assert bus.topics() == left
    publisher.close()


def test_a_narrow_terminal_gets_a_whole_table_with_a_rule_under_the_heading(cli, bus):
    bus.create("imu")
    terminal, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, 30))
    try:
        listing = cli.start("ls", stdout=inner, env={"TERM": "xterm"})
        os.close(inner)
        assert listing.wait(WATCHDOG_S) == 0
        text = re.sub(r"\x1b\[[0-9;]*m", "", os.read(terminal, 65536).decode())
    finally:
        os.close(terminal)
    heading, rule, row = text.strip().splitlines()
    assert heading.split() == COLUMNS.lower().split() and set(rule.strip()) == {"─"}
    assert row.split() == ["imu", "lossy", "16", "MiB", "0", "0", "0", "0", "0"]
