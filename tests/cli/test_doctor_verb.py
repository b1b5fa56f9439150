# SPDX-License-Identifier: Apache-2.0
"""doctor: nothing to find on a sound bus, leftovers of the dead found and cleared, damage reported; the machine."""

import json
import os
import resource

import pytest

from slipring.cli.terminal import host_checks


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
    assert cli.run("doctor").stdout.startswith(b"1 topic checked, no problems\n")
    (record,) = cli.records("doctor", "--format", "json")
    del record["machine"]
    assert record == {"checked": 1, "repair": False, "findings": [], "remaining": []}
    assert reader.recv(timeout=0).body == b"x"


def test_leftovers_of_dead_processes_are_found_and_only_a_repair_removes_them(cli, bus, dead_participants):
    for _ in range(2):
        outcome = cli.run("doctor", "--dry-run")
        first, _, heading, *_ = outcome.stdout.decode().splitlines()
        assert first.startswith("1 topic checked, no problems, 1 leftover of killed processes (")
        assert "--repair" in first and outcome.stderr == ""
        assert heading.split() == ["TOPIC", "SEVERITY", "FINDING", "ACTION"]
    (record,) = cli.records("doctor", "--repair", "--format", "json")
    assert record["findings"] and record["remaining"] == []
    assert all(set(finding) >= {"topic", "problem", "action"} for finding in record["findings"])
    assert {finding["severity"] for finding in record["findings"]} == {"note"}
    cli.run("doctor")
    assert bus.stats("t")["publishers"] == bus.stats("t")["readers"] == []


def test_a_damaged_segment_is_reported_and_the_others_are_checked(cli, bus):
    bus.create("bad")
    bus.create("good")
    with open(os.path.join(bus.path, "bad.ring"), "r+b") as ring:
        ring.write(b"\xa5" * 4096)
    outcome = cli.run("doctor", code=1)
    assert outcome.stdout.startswith(b"2 topics checked, 1 problem\n")
    assert outcome.stderr.startswith("slipring: error: 1 problem found")
    (record,) = cli.records("doctor", "--format", "json", code=1)
    assert {finding["severity"] for finding in record["findings"]} == {"problem"}
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


def test_a_killed_publisher_alone_is_not_an_error(cli, bus, processes):
    child = processes.start("""
        pub = bus.publisher("t")
        pub.send(b"x")
        say("sent")
        hear()
    """)
    child.expect("sent")
    child.kill()
    outcome = cli.run("doctor")
    assert outcome.stderr == "" and b"problem found" not in outcome.stdout
    assert b"note" in outcome.stdout


def checks(cli) -> dict:
    (record,) = cli.records("doctor", "--format", "json")
    return {check["check"]: check for check in record["machine"]}


def test_the_machine_is_checked(cli, bus_root):
    found = checks(cli)
    wanted = {"page size", "kernel", "futex_waitv", "OFD locks", "memfd", "open files", "locked memory"}
    assert set(found) == wanted | {f"space in {bus_root}", "clock source", "Java", "boot id"}
    assert all(set(check) == {"check", "value", "state", "advice"} for check in found.values())
    assert {check["state"] for check in found.values()} <= {"ok", "warning"}
    assert found["page size"]["value"] == "4 KiB"
    assert "free" in found[f"space in {bus_root}"]["value"]
    text = cli.run("doctor").stdout.decode()
    assert all(name in text for name in found)
    assert list(bus_root.iterdir()) == []


def test_a_topic_that_this_process_cannot_open_is_not_to_be_removed(bus):
    bus.create("t", capacity=4096)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = os.open("/", os.O_RDONLY)
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 2, before[1]))  # a directory and no more
    try:
        (found,) = bus.doctor()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        os.close(used)
    assert found["problem"].startswith("SystemFault: ") and "remove" not in found["action"]


def test_a_low_limit_of_open_files_is_a_warning_with_what_to_do(cli):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        found = checks(cli)["open files"]
        text = cli.run("doctor").stdout.decode()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found["value"].startswith("128 ") and found["state"] == "warning" and "ulimit" in found["advice"]
    assert "warning: open files: 128" in text


def test_a_java_that_spark_cannot_use_is_a_warning(cli, tmp_path):
    (record,) = json.loads(b"[%s]" % cli.finish(
        cli.start("doctor", "--format", "json", env={"JAVA_HOME": str(tmp_path)})
    ).stdout)  # fmt: skip
    (java,) = (check for check in record["machine"] if check["check"] == "Java")
    assert java["state"] == "warning" and str(tmp_path) in java["advice"]


def test_little_space_is_a_warning_and_a_page_of_another_size_a_problem(monkeypatch, bus_root):
    found = os.statvfs(bus_root)
    little = os.statvfs_result([4096, 4096, 1024, 256, 256, *found[5:]])
    monkeypatch.setattr(os, "statvfs", lambda path: little)
    check = host_checks._space(str(bus_root))
    assert (check.value, check.state) == ("1 MiB of 4 MiB free", "warning") and "--root" in check.advice
    monkeypatch.setattr(os, "sysconf", lambda name: 16384)
    assert host_checks._page_size().state == "problem"
