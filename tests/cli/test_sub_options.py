# SPDX-License-Identifier: Apache-2.0
"""What sub prints, where it begins, and when it ends."""

import base64
import json
import os
import signal

from support.waiting import eventually


def test_json_has_text_as_text_and_other_bytes_as_base64(cli, bus):
    publisher = bus.publisher("t", sender="gyro")
    publisher.send("grüß\n".encode(), type="imu.v1")
    publisher.send(b"\xff\x00")
    kept = bus.subscriber("t", start="oldest").recv_many()
    first, second = cli.records("sub", "t", "--start", "oldest", "--timeout", "0", "--format", "json")
    assert first == {
        "topic": "t",
        "seq": 0,
        "time_ns": kept[0].time_ns,
        "sender": "gyro",
        "type": "imu.v1",
        "body": "grüß\n",
        "encoding": "utf-8",
    }
    assert (second["seq"], second["encoding"]) == (1, "base64")
    assert base64.b64decode(second["body"]) == b"\xff\x00"


def test_start_takes_oldest_last_new_or_a_sequence(cli):
    cli.run("pub", "t", "a", "b", "c", "d")

    def printed(start: str) -> bytes:
        return cli.run("sub", "t", "--start", start, "--timeout", "0").stdout

    assert [printed(start) for start in ("oldest", "0", "2", "last", "new")] == [
        b"a\nb\nc\nd\n",
        b"a\nb\nc\nd\n",
        b"c\nd\n",
        b"d\n",
        b"",
    ]


def test_types_and_senders_select(cli):
    for kind, sender in (("x", "ann"), ("y", "ann"), ("z", "bob"), ("", "eve")):
        cli.run("pub", "t", f"{sender}:{kind}", "--type", kind, "--sender", sender)

    def printed(*options: str) -> list[bytes]:
        return cli.run("sub", "t", "--start", "oldest", "--timeout", "0", *options).stdout.split()

    assert printed("--types", "x,y") == [b"ann:x", b"ann:y"]
    assert printed("--types", "x", "--types", "z") == [b"ann:x", b"bob:z"]
    assert printed("--types", "") == [b"eve:"]
    assert printed("--ignore-types", "x,z") == [b"ann:y", b"eve:"]
    assert printed("--ignore-senders", "ann,bob") == [b"eve:"]


def test_a_cursor_goes_on_after_the_last_printed_message(cli, bus):
    cli.run("pub", "t", "a", "b", "c", "d", "--delivery", "reliable")
    args = ("sub", "t", "--cursor", "shell", "--timeout", "0")
    assert cli.run(*args, "--start", "oldest", "--count", "1").stdout == b"a\n"
    assert cli.run(*args, "--count", "2").stdout == b"b\nc\n"
    assert [(cursor["name"], cursor["lag"]) for cursor in bus.stats("t")["cursors"]] == [("shell", 1)]
    assert cli.run(*args).stdout == b"d\n"


def test_silence_ends_sub_with_success_and_with_an_error_when_counted_messages_are_missing(cli):
    cli.run("pub", "t", "a")
    args = ("sub", "t", "--start", "oldest", "--timeout", "0.01")
    assert cli.run(*args).stderr == ""
    outcome = cli.run(*args, "--count", "3", code=1)
    assert outcome.stdout == b"a\n"
    assert outcome.stderr == "slipring: error: nothing came for 0.01 s and 2 of 3 messages are missing\n"


def test_a_lapped_sub_prints_what_is_left_and_reports_the_exact_loss(cli, bus, reads):
    publisher = bus.publisher("t", slots=16)
    subscriber = cli.start("sub", "t", "--format", "json")
    reads(subscriber, "t")
    subscriber.send_signal(signal.SIGSTOP)
    eventually(lambda: _state(subscriber.pid) == "T", "the subscriber stopping")
    for number in range(1000):
        publisher.send(b"%d" % number)
    subscriber.send_signal(signal.SIGCONT)
    printed = [json.loads(subscriber.stdout.readline())["seq"]]
    while printed[-1] < 999:
        printed.append(json.loads(subscriber.stdout.readline())["seq"])
    assert printed == list(range(1000 - len(printed), 1000))
    assert 0 < len(printed) < 16
    lost = 1000 - len(printed)
    assert subscriber.stderr.readline().startswith(b"slipring: lost %d messages (%d in all): " % (lost, lost))


def test_sub_delays_a_reliable_publisher_unless_lossy(cli, bus, reads):
    publisher = bus.publisher("t", slots=16, delivery="reliable")
    tap = cli.start("sub", "t", "--lossy")
    reads(tap, "t")
    assert [reader["kind"] for reader in bus.stats("t")["readers"]] == ["lossy"]
    tap.terminate()
    assert cli.finish(tap).code == -signal.SIGTERM
    member = cli.start("sub", "t", "--count", "100")
    reads(member, "t")
    for number in range(100):
        publisher.send(b"%d" % number)
    assert cli.finish(member).stdout.split() == [b"%d" % number for number in range(100)]


def test_conflate_prints_the_newest(cli):
    cli.run("pub", "t", "a", "b", "c")
    assert cli.run("sub", "t", "--start", "oldest", "--conflate", "--timeout", "0").stdout == b"c\n"


def test_a_pattern_prints_several_topics_with_their_names(cli, bus):
    for topic in ("cam.left", "cam.right", "imu"):
        cli.run("pub", topic, f"of {topic}", "--capacity", "64KiB")
    arguments = ("sub", "cam.*", "--start", "oldest", "--timeout", "0")
    assert sorted(cli.run(*arguments).stdout.splitlines()) == [
        b"cam.left: of cam.left",
        b"cam.right: of cam.right",
    ]
    records = cli.records(*arguments, "--format", "json")
    assert {(record["topic"], record["body"]) for record in records} == {
        ("cam.left", "of cam.left"),
        ("cam.right", "of cam.right"),
    }
    assert sorted(cli.run(*arguments, "--null").stdout.split(b"\0")) == [b"", b"of cam.left", b"of cam.right"]


def test_a_pattern_takes_topics_that_appear_later(cli, bus, reads):
    bus.create("cam.left")
    subscriber = cli.start("sub", "cam.*", "--count", "2")
    reads(subscriber, "cam.left")
    bus.publisher("imu").send(b"another")
    bus.publisher("cam.right").send(b"R")
    assert subscriber.stdout.readline() == b"cam.right: R\n"
    bus.publisher("cam.left").send(b"L")
    assert cli.finish(subscriber).stdout == b"cam.left: L\n"


def test_a_pattern_that_matches_nothing_yet_is_reported(cli, bus):
    bus.create("imu")
    outcome = cli.run("sub", "cam.*", "--timeout", "0")
    assert outcome.stdout == b"" and "waiting for a topic that matches 'cam.*'" in outcome.stderr


def test_a_topic_of_a_pattern_that_cannot_be_read_is_reported_and_the_others_are_printed(cli, bus):
    bus.create("cam.bad")
    bus.publisher("cam.good").send(b"x")
    with open(os.path.join(bus.path, "cam.bad.ring"), "r+b") as ring:
        ring.write(b"\xa5" * 4096)
    outcome = cli.run("sub", "cam.*", "--start", "oldest", "--timeout", "0", code=1)
    assert outcome.stdout == b"cam.good: x\n"
    assert outcome.stderr.startswith("slipring: error: ") and "cam.bad" in outcome.stderr
    assert outcome.stderr.count("\n") == 1


def test_hz_refuses_a_pattern(cli):
    assert "one topic" in cli.run("hz", "cam.*", code=2).stderr


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]
