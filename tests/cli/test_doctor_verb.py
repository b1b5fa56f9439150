# SPDX-License-Identifier: Apache-2.0
"""doctor: nothing to find on a sound bus, leftovers of the dead found and cleared, damage reported."""

import os

import pytest


@pytest.fixture
def dead_participants(bus, processes):
    """A topic whose publisher and reader were killed."""
    child = processes.start("""
        pub = bus.publisher("t")
        sub = bus.subscriber("t")
        say("open")
        hear()
    """)
    child.expect("open")
    child.kill()


def test_a_sound_bus_has_no_findings(cli, bus):
    publisher = bus.publisher("t")
    reader = bus.subscriber("t")
    publisher.send(b"x")
    assert cli.run("doctor").stdout == b"1 topic checked, no problems\n"
    (record,) = cli.records("doctor", "--format", "json")
    assert record == {"checked": 1, "repair": False, "findings": [], "remaining": []}
    assert reader.recv(timeout=0).body == b"x"


def test_what_the_dead_left_is_found_and_only_a_repair_clears_it(cli, bus, dead_participants):
    for _ in range(2):
        outcome = cli.run("doctor", "--dry-run", code=1)
        assert outcome.stdout.split()[:3] == [b"TOPIC", b"PROBLEM", b"ACTION"]
        assert outcome.stderr.startswith("slipring: error: ") and "--repair" in outcome.stderr
    (record,) = cli.records("doctor", "--repair", "--format", "json")
    assert record["findings"] and record["remaining"] == []
    assert all(set(finding) >= {"topic", "problem", "action"} for finding in record["findings"])
    cli.run("doctor")
    assert bus.stats("t")["publishers"] == bus.stats("t")["readers"] == []


def test_a_damaged_segment_is_reported_and_the_others_are_checked(cli, bus):
    bus.create("bad")
    bus.create("good")
    with open(os.path.join(bus.path, "bad.ring"), "r+b") as ring:
        ring.write(b"\xa5" * 4096)
    (record,) = cli.records("doctor", "--format", "json", code=1)
    assert {finding["topic"] for finding in record["findings"]} == {"bad"}
    assert record["checked"] == 2


@pytest.mark.foreign_files
def test_a_foreign_file_in_the_bus_does_not_disturb_the_check(cli, bus):
    bus.create("t")
    with open(os.path.join(bus.path, "README.txt"), "w") as foreign:
        foreign.write("not a topic")
    outcome = cli.finish(cli.start("doctor", "--repair"))
    assert outcome.code in (0, 1) and "Traceback" not in outcome.stderr
    assert os.path.exists(os.path.join(bus.path, "README.txt"))
    assert bus.topics() == ["t"]
