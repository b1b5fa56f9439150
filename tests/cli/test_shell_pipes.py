# SPDX-License-Identifier: Apache-2.0
"""pub and sub carry any bytes between a topic and a pipe."""

import os
import random
import shlex
import struct
import subprocess

import pytest

from support.waiting import WATCHDOG_S

BODIES = [b"", b"\n", b"\0", b"a\nb\0c", bytes(range(256)), b"\xff" * 5000, b"\r\n", "ü".encode()]


def prefixed(bodies) -> bytes:
    return b"".join(struct.pack(">I", len(body)) + body for body in bodies)


def test_lines_on_stdin_come_out_of_sub_as_the_same_lines(cli):
    cli.run("pub", "t", stdin=b"one\n\n two\t\r\nthr\xffee\n")
    assert (
        cli.run("sub", "t", "--start", "oldest", "--timeout", "0").stdout == b"one\n\n two\t\r\nthr\xffee\n"
    )


def test_a_last_line_without_newline_is_a_message_and_an_empty_stdin_is_none(cli, bus):
    cli.run("pub", "t", stdin=b"one\ntwo")
    cli.run("pub", "t", stdin=b"")
    assert [m.body for m in bus.subscriber("t", start="oldest").recv_many()] == [b"one", b"two"]


def test_arguments_are_published_byte_for_byte(cli, bus):
    cli.run("pub", "t", "plain", "", "ü", b"not \xff text", "--", "--dashed")
    bodies = [m.body for m in bus.subscriber("t", start="oldest").recv_many()]
    assert bodies == [b"plain", b"", "ü".encode(), b"not \xff text", b"--dashed"]


def test_any_bytes_pass_length_prefixed_from_stdin_through_the_topic_to_stdout(cli):
    chosen = random.Random(1)
    bodies = BODIES + [chosen.randbytes(chosen.randrange(3000)) for _ in range(300)]
    cli.run("pub", "t", "--length-prefixed", stdin=prefixed(bodies))
    outcome = cli.run("sub", "t", "--start", "oldest", "--timeout", "0", "--length-prefixed")
    assert outcome.stdout == prefixed(bodies)


def test_zero_terminated_bodies_may_hold_newlines(cli):
    cli.run("pub", "t", "--null", stdin=b"a\nb\0\0c")
    outcome = cli.run("sub", "t", "--start", "oldest", "--timeout", "0", "--null")
    assert outcome.stdout == b"a\nb\0\0c\0"


def test_raw_takes_all_of_stdin_as_one_body_and_puts_nothing_between_bodies(cli, bus):
    everything = os.urandom(200_000)
    cli.run("pub", "t", "--raw", stdin=everything)
    cli.run("pub", "t", "--raw", stdin=b"")
    cli.run("pub", "t", "end")
    assert bus.stats("t")["published"] == 3
    assert cli.run("sub", "t", "--start", "oldest", "--raw", "--timeout", "0").stdout == everything + b"end"


def test_a_shell_pipeline_copies_one_topic_into_another(cli, bus):
    cli.run("pub", "a", "--length-prefixed", stdin=prefixed(BODIES))
    sub = shlex.join(
        cli.argv("sub", "a", "--start", "oldest", "--length-prefixed", "--count", str(len(BODIES)))
    )
    pub = shlex.join(cli.argv("pub", "b", "--length-prefixed"))
    subprocess.run(["bash", "-c", f"set -o pipefail; {sub} | {pub}"], check=True, timeout=WATCHDOG_S)
    assert [m.body for m in bus.subscriber("b", start="oldest").recv_many()] == BODIES


def test_a_line_is_published_when_it_comes_not_when_stdin_ends(cli, bus):
    receiver = bus.subscriber("t")
    publisher = cli.start("pub", "t")
    for number in range(3):
        publisher.stdin.write(b"%d\n" % number)
        publisher.stdin.flush()
        assert receiver.recv(timeout=WATCHDOG_S).body == b"%d" % number
    assert cli.finish(publisher).code == 0


def test_a_message_is_printed_when_it_comes_not_when_sub_ends(cli, bus, reads):
    publisher = bus.publisher("t")
    subscriber = cli.start("sub", "t")
    reads(subscriber, "t")
    for number in range(3):
        publisher.send(b"%d" % number)
        assert subscriber.stdout.readline() == b"%d\n" % number


def test_sub_may_start_before_the_topic_and_misses_nothing_of_it(cli):
    subscriber = cli.start("sub", "later", "--count", "2")
    assert subscriber.stderr.readline() == b"slipring: waiting for topic 'later' to appear\n"
    cli.run("pub", "later", "one", "two")
    assert cli.finish(subscriber) == (b"one\ntwo\n", "", 0)


def test_pub_waits_for_the_asked_number_of_subscribers(cli):
    publisher = cli.start("pub", "t", "hello", "--wait-for", "1")
    subscriber = cli.start("sub", "t", "--count", "1")
    assert cli.finish(subscriber).stdout == b"hello\n"
    assert cli.finish(publisher).code == 0


@pytest.mark.parametrize(
    ("stdin", "complaint"),
    [
        (b"\0\0\0", "ends inside a length prefix (3 of 4 bytes)"),
        (b"\0\0\0\5abc", "ends inside a body (3 of 5 bytes)"),
        (b"\xff\xff\xff\xffabc", "4294967295 bytes or more and the topic holds 65536"),
    ],
)
def test_broken_length_prefixed_input_is_an_error_that_counts_what_was_sent_before(
    cli, bus, stdin, complaint
):
    args = ("pub", "t", "--length-prefixed", "--capacity", "64KiB")
    outcome = cli.run(*args, stdin=prefixed([b"good"]) + stdin, code=1)
    assert complaint in outcome.stderr and "1 message sent before" in outcome.stderr
    assert bus.stats("t")["published"] == 1


def test_an_endless_line_is_refused_without_being_collected(cli):
    with open("/dev/zero", "rb") as zeros:
        outcome = cli.finish(cli.start("pub", "t", "--capacity", "64KiB", stdin=zeros))
    assert outcome.code == 1 and "the topic holds 65536" in outcome.stderr
