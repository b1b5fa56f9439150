# SPDX-License-Identifier: Apache-2.0
"""An error is one line that names the fix: exit code 1, or 2 for wrong usage."""

import os
import socket
import subprocess
import sys

import pytest

from support.waiting import WATCHDOG_S


def complaint(cli, *args, code: int, stdin: bytes = b"") -> str:
    outcome = cli.run(*args, code=code, stdin=stdin)
    assert outcome.stdout == b""
    line, rest = outcome.stderr.split("\n", 1)
    assert line.startswith("slipring: error: ") and rest == "", outcome.stderr
    return line


@pytest.mark.parametrize("args", [("info", "nope"), ("rm", "nope", "--yes")])
def test_a_missing_topic_is_named_with_the_verb_that_lists_them(cli, bus, args):
    bus.create("other")
    line = complaint(cli, *args, code=1)
    assert "nope" in line and "`slipring ls`" in line


def test_inspecting_a_missing_bus_finds_nothing_and_creates_nothing(cli, bus_root):
    assert cli.run("ls").stdout == b""
    cli.run("doctor", "--repair")
    cli.run("top", "--once", "--interval", "0.01")
    cli.run("sub", "t", "--timeout", "0")
    complaint(cli, "info", "t", code=1)
    complaint(cli, "rm", "t", "--yes", code=1)
    assert list(bus_root.iterdir()) == []


@pytest.mark.parametrize("topic", ["", "..", "a/b", ".hidden", "x" * 101, "ü", "line\nbreak", "\x1b[31m"])
@pytest.mark.parametrize("verb", ["info", "pub", "sub", "hz", "rm"])
def test_a_bad_name_is_refused_by_every_verb_and_never_reaches_the_terminal_raw(cli, verb, topic):
    options = {"rm": ["--yes"], "sub": ["--timeout", "0"], "hz": ["--for", "0.01"], "pub": ["x"]}
    arguments = (
        ["--", topic, *options.get(verb, [])] if verb == "pub" else [*options.get(verb, []), "--", topic]
    )
    line = complaint(cli, verb, *arguments, code=1)
    assert line.isprintable()


def test_a_bridge_that_does_not_answer_is_waited_for_by_the_address_and_not_by_an_option(cli):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"zmq+tcp://127.0.0.1:{nobody.getsockname()[1]}/test?connect_timeout=0.1"
        line = complaint(cli, "--bus", address, "--root", "/dev/shm", "ls", code=1)
    assert "nobody answers" in line and "connect_timeout=" in line and "slipring bridge serve" in line
    assert "--timeout" not in line


def test_the_address_of_a_server_is_explained_by_one_of_a_server(cli):
    line = complaint(cli, "bridge", "serve", "--address", "tcp://127.0.0.1", code=1)
    assert "the port is missing" in line and "write tcp://HOST:5555" in line and "zmq+tcp" not in line


def test_a_topic_that_may_be_in_use_is_not_removed_by_advice(cli, bus):
    bus.create("t", capacity=4096)
    path = os.path.join(bus.path, "t.ring")
    with open(path, "r+b") as ring:
        ring.seek(8)
        ring.write(b"\xff\xff")  # the layout's version
    line = complaint(cli, "info", "t", code=1)
    assert "no process uses it" in line
    (found,) = bus.doctor()
    assert "no process uses it" in found["action"]
    bus.remove("t")


def test_other_settings_than_the_topic_has_are_refused_naming_both(cli, bus):
    bus.create("t", capacity="64KiB")
    assert "reliable" in complaint(cli, "pub", "t", "x", "--delivery", "reliable", code=1)
    line = complaint(cli, "pub", "t", "x", "--capacity", "1MiB", code=1)
    assert "65536" in line and "1048576" in line
    cli.run("pub", "t", "x", "--capacity", "64KiB", "--delivery", "lossy")
    cli.run("pub", "t", "x", "--capacity", "65536")
    assert bus.stats("t")["published"] == 2


def test_a_full_topic_is_reported_when_the_timeout_expires(cli, bus):
    bus.create("t", slots=16, delivery="reliable")
    idle = bus.subscriber("t")
    outcome = cli.run("pub", "t", "x", "--count", "100", "--timeout", "0", code=1)
    assert idle.lag == 15
    first, second = outcome.stderr.splitlines()
    assert first == "slipring: 15 messages sent before the error:"
    assert second.startswith("slipring: error: ") and "--timeout" in second


def test_a_body_over_the_capacity_is_too_large(cli, bus):
    bus.create("t", capacity=4096)
    assert "--capacity" in complaint(cli, "pub", "t", "x" * 4097, code=1)
    assert bus.stats("t")["published"] == 0


def test_a_topic_removed_under_sub_is_reported(cli, bus, reads):
    bus.create("t")
    subscriber = cli.start("sub", "t")
    reads(subscriber, "t")
    bus.remove("t")
    outcome = cli.finish(subscriber)
    assert outcome.code == 1 and outcome.stderr.startswith("slipring: error: ")


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("frob",), "slipring --help"),
        (("sub",), "slipring sub --help"),
        (("sub", "t", "--start", "sometime"), "neither new"),
        (("sub", "t", "--count", "0"), "--count"),
        (("sub", "t", "--timeout", "nan"), "--timeout"),
        (("sub", "t", "--timeout", "-1"), "--timeout"),
        (("sub", "t", "--format", "json", "--null"), "--null"),
        (("pub", "t", "x", "--null"), "--null"),
        (("pub", "t", "--count", "3"), "--count"),
        (("pub", "t", "x", "--rate", "0"), "--rate"),
        (("hz", "t", "--for", "soon"), "--for"),
        (("top", "--interval", "0"), "--interval"),
        (("ls", "--bus", "other"), "--bus goes before the verb"),
        (("rm",), "TOPIC"),
        (("pub", "t", "x", "--sender", b"\xff"), "not UTF-8"),
        (("sub", "t", "--types", b"a\xff"), "not UTF-8"),
    ],
)
def test_wrong_usage_ends_with_2_and_names_the_option(cli, args, hint):
    assert hint in complaint(cli, *args, code=2)


def test_without_a_verb_the_help_is_shown_as_an_error(cli):
    outcome = cli.run(code=2)
    assert outcome.stdout == b"" and "Commands:" in outcome.stderr


def test_help_and_version_are_answers_not_errors(cli):
    assert cli.run("--version").stdout.startswith(b"slipring ")
    for verb in ("ls", "info", "pub", "sub", "hz", "top", "rm", "doctor"):
        assert verb.encode() in cli.run("--help").stdout
        assert cli.run(verb, "--help").stderr == ""


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_the_command_names_what_to_install(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from slipring.cli import main; main()"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code, "ls"], capture_output=True, text=True, timeout=WATCHDOG_S
    )
    assert ended.returncode == 2
    assert ended.stderr == f'slipring: error: the command line needs {missing}: pip install "slipring[cli]"\n'


def test_advice_fits_what_is_denied_and_what_is_full():
    import slipring
    from slipring.cli.terminal.error_text import describe

    hidden = slipring.Denied("the boot id is hidden: make it readable", argument="root")
    assert "owner" not in describe(hidden)
    assert "ask the owner of the topic" in describe(slipring.Denied("not yours", argument="topic"))
    assert "`slipring rm`" in describe(slipring.NoSpace("no space", argument="root"))
