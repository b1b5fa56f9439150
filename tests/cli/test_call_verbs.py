# SPDX-License-Identifier: Apache-2.0
"""``slipring call`` and ``slipring serve-echo``: calls from the shell."""

import json
import signal

import pytest

from support import annotated
from support.waiting import WATCHDOG_S


@pytest.fixture
def echo(cli, bus):
    process = cli.start("serve-echo")
    assert b"serving 'echo'" in process.stderr.readline()
    yield process
    process.send_signal(signal.SIGINT)
    assert process.wait(WATCHDOG_S) == -signal.SIGINT
    assert bus.topics() == []


def answer(cli, *args):
    return json.loads(cli.run("call", "echo", *args).stdout)


def test_a_method_is_called_with_json_and_named_arguments(cli, echo):
    assert answer(cli, "add", "1", "2") == 3
    assert answer(cli, "add", "a=1.5", "b=2") == 3.5
    assert answer(cli, "echo", '{"a": [null, true, "ü"]}') == {"a": [None, True, "ü"]}
    assert answer(cli, "echo", "plain text") == "plain text"
    assert answer(cli, "echo") is None
    assert len(answer(cli, "size", "3000000")) == 3_000_000


def test_a_stream_is_printed_line_by_line(cli, echo):
    assert cli.run("call", "echo", "--stream", "count", "4").stdout == b"0\n1\n2\n3\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("call", "echo", "fail", "boo"), "RuntimeError: boo"),
        (("call", "echo", "nix"), "add, count, echo, fail, size, sleep"),
        (("call", "echo", "add", "1"), "missing 1 required"),
        (
            ("call", "echo", "size", '"many"'),
            "method 'size', parameter 'bytes': value='many' (str) must be int64, an int (arguments are JSON",
        ),
        (("call", "echo", "count", "1"), "stream"),
        (("call", "echo", "sleep", "60", "--timeout", "0.05"), "--timeout"),
        (("call", "other", "x"), "no living server"),
        (("serve-echo",), "living server"),
    ],
)
def test_what_goes_wrong_is_one_line(cli, echo, args, said):
    outcome = cli.run(*args, code=1)
    assert outcome.stdout == b""
    assert outcome.stderr.startswith("slipring: error: ") and outcome.stderr.count("\n") == 1
    assert said in outcome.stderr


def test_a_positional_argument_after_a_named_one_is_wrong_usage(cli):
    assert "named argument" in cli.run("call", "echo", "add", "a=1", "2", code=2).stderr


def test_a_call_may_wait_for_its_server(cli, bus):
    calling = cli.start("call", "echo", "--wait", "60", "add", "1", "2")
    with bus.server("echo") as server:
        server.method(lambda a, b: a + b, name="add")
        server.start()
        assert calling.communicate(timeout=WATCHDOG_S)[0] == b"3\n"


def test_a_map_is_an_object_of_an_annotated_method(cli, bus):
    with bus.server("echo") as server:
        server.method(annotated.later, name="locate")
        server.start()
        assert answer(cli, "locate", '{"t": 1, "acc": [1, 2, 3]}') == {"x": 1.0, "parts": []}
        refused = cli.run("call", "echo", "locate", '{"t": 1, "acc": [1, 2, null]}', code=1).stderr
    assert "method 'locate', parameter 'imu': acc[2]=None (NoneType) must be float64, a float" in refused


def test_what_serve_echo_proposes_can_be_typed(cli, bus):
    process = cli.start("serve-echo", "svc")
    proposed = process.stderr.readline().decode().split("try: slipring ")[1].split()
    assert cli.run(*proposed[proposed.index("call") :]).stdout.strip() == b"3"
    assert proposed[:2] == ["--bus", bus.name]
    assert str(bus.root) in proposed
    process.send_signal(signal.SIGINT)
    process.wait(WATCHDOG_S)
