# SPDX-License-Identifier: Apache-2.0
"""Signals and closed pipes end every verb quietly, by that signal, and close its handles."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import WATCHDOG_S, eventually, wait_until_asleep


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_waiting_sub_quietly_and_frees_its_entry(cli, bus, reads, signum):
    bus.create("t")
    subscriber = cli.start("sub", "t")
    reads(subscriber, "t")
    wait_until_asleep(subscriber.pid)
    subscriber.send_signal(signum)
    assert cli.finish(subscriber) == (b"", "", -signum)
    assert bus.stats("t")["readers"] == []


INTERRUPTING = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.parametrize(
    "module",
    ["slipring", "slipring._native", "slipring.cli", "click", "slipring.cli.app", "slipring.cli.verbs.ls"],
)
def test_ctrl_c_during_the_imports_of_the_command_ends_it_quietly(tmp_path, bus_root, module):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    command = [str(Path(sys.executable).with_name("slipring")), "--root", str(bus_root), "ls"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPT_AT": module}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=WATCHDOG_S)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", -signal.SIGINT)


def test_ctrl_c_ends_sub_before_its_topic_exists(cli):
    subscriber = cli.start("sub", "never")
    subscriber.stderr.readline()
    wait_until_asleep(subscriber.pid)
    subscriber.send_signal(signal.SIGINT)
    assert cli.finish(subscriber) == (b"", "", -signal.SIGINT)


def test_ctrl_c_ends_pub_while_it_waits_for_stdin(cli, bus):
    publisher = cli.start("pub", "t")
    eventually(lambda: "t" in bus.topics() and bus.stats("t")["publishers"], "the publisher opening")
    wait_until_asleep(publisher.pid)
    publisher.send_signal(signal.SIGINT)
    assert publisher.wait(WATCHDOG_S) == -signal.SIGINT
    assert publisher.stderr.read() == b""
    assert bus.stats("t")["publishers"] == []


def test_ctrl_c_ends_pub_while_a_full_topic_delays_it(cli, bus):
    bus.create("t", slots=16, delivery="reliable")
    idle = bus.subscriber("t")
    publisher = cli.start("pub", "t", "x", "--count", "1000")
    eventually(lambda: bus.stats("t")["published"] >= 15, "the topic filling")
    wait_until_asleep(publisher.pid)
    publisher.send_signal(signal.SIGINT)
    assert cli.finish(publisher) == (b"", "", -signal.SIGINT)
    assert idle.lag == 15


def test_ctrl_c_ends_hz_with_its_total(cli, bus, reads):
    publisher = bus.publisher("t")
    meter = cli.start("hz", "t", "--window", "3600")
    reads(meter, "t")
    publisher.send(b"x")
    wait_until_asleep(meter.pid)
    meter.send_signal(signal.SIGINT)
    outcome = cli.finish(meter)
    assert (outcome.stderr, outcome.code) == ("", -signal.SIGINT)
    assert outcome.stdout.startswith(b"total: ")


def test_ctrl_c_ends_a_piped_top(cli):
    top = cli.start("top", "--interval", "0.01", "--format", "json")
    top.stdout.readline()
    top.send_signal(signal.SIGINT)
    outcome = cli.finish(top)
    assert (outcome.stderr, outcome.code) == ("", -signal.SIGINT)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_closed_stdout_ends_sub_quietly_at_the_next_message(cli, bus, reads, form):
    publisher = bus.publisher("t")
    subscriber = cli.start("sub", "t", "--format", form)
    reads(subscriber, "t")
    subscriber.stdout.close()
    publisher.send(b"nobody reads this")
    assert subscriber.wait(WATCHDOG_S) == -signal.SIGPIPE
    assert subscriber.stderr.read() == b""
    eventually(lambda: not bus.stats("t")["readers"], "the entry becoming free")


def test_head_ends_a_pipeline_of_sub(cli):
    cli.run("pub", "t", stdin=b"line\n" * 40_000)  # more than a pipe holds
    with subprocess.Popen(["head", "-n", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as head:
        subscriber = cli.start("sub", "t", "--start", "oldest", stdin=None, stdout=head.stdin)
        head.stdin.close()
        assert head.stdout.read() == b"line\nline\n"
    assert cli.finish(subscriber) == (b"", "", -signal.SIGPIPE)


def test_a_full_disk_under_stdout_is_an_error_in_one_line(cli):
    cli.run("pub", "t", "x")
    for verb in (("ls",), ("sub", "t", "--start", "oldest", "--timeout", "0"), ("info", "t")):
        with open("/dev/full", "wb") as full:
            outcome = cli.finish(cli.start(*verb, stdout=full))
        assert (outcome.stderr, outcome.code) == ("slipring: error: No space left on device\n", 1)


def test_verbs_work_without_stdin_stdout_or_stderr(cli, bus):
    code = "import os, sys; os.closerange(0, 3); os.execv(sys.argv[1], sys.argv[1:])"
    for args in (("pub", "t", "x"), ("ls",), ("sub", "t", "--start", "oldest", "--timeout", "0")):
        subprocess.run([sys.executable, "-c", code, *cli.argv(*args)], check=True, timeout=WATCHDOG_S)
    assert bus.subscriber("t", start="oldest").recv(0).body == b"x"


def test_an_ignored_interrupt_stays_ignored(cli, bus, reads):
    bus.create("t")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        subscriber = cli.start("sub", "t", "--count", "1")
    finally:
        signal.signal(signal.SIGINT, before)
    reads(subscriber, "t")
    os.kill(subscriber.pid, signal.SIGINT)
    cli.run("pub", "t", "still here")
    assert cli.finish(subscriber) == (b"still here\n", "", 0)
