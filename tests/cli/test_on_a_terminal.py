# SPDX-License-Identifier: Apache-2.0
"""Hostile contents of a bus cannot control the terminal that shows them: real pseudo-terminals."""

import json
import os

import pytest

BELL_AND_CLEAR = b"\x07\x1b[2J\x1b]0;owned\x07"
C1 = "\x9b2Jgr\xfc\xdf\x7f"  # a CSI of one character, text, DEL
CONTROLS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} - {"\r", "\n"}


def harmless(shown: bytes) -> bool:
    """Whether a terminal only gets text: `decode` fails for anything that is not."""
    return not set(shown.decode()) & CONTROLS


def test_sub_escapes_bodies_on_a_terminal(terminal, bus):
    publisher = bus.publisher("t")
    publisher.send_many([BELL_AND_CLEAR, C1.encode(), b"\xff\x9b\x00", b"two\nlines", "grüß".encode()])
    shown = terminal.run("sub", "t", "--start", "oldest", "--timeout", "0")
    assert harmless(shown)
    assert shown.decode().splitlines() == [
        r"\x07\x1b[2J\x1b]0;owned\x07",
        r"\x9b2Jgrüß\x7f",
        r"\xff\x9b\x00",
        r"two\nlines",
        "grüß",
    ]


def test_sub_of_a_pattern_shows_topics_and_escapes_bodies_on_a_terminal(terminal, bus):
    bus.publisher("cam.left").send(BELL_AND_CLEAR)
    shown = terminal.run("sub", "cam.*", "--start", "oldest", "--timeout", "0")
    assert shown == rb"cam.left: \x07\x1b[2J\x1b]0;owned\x07" + b"\n"


def test_sub_writes_bodies_as_they_are_into_a_pipe_and_with_raw_on_a_terminal(cli, terminal, bus):
    bus.publisher("t").send(BELL_AND_CLEAR)
    arguments = ("sub", "t", "--start", "oldest", "--timeout", "0")
    assert cli.run(*arguments).stdout == BELL_AND_CLEAR + b"\n"
    assert terminal.run(*arguments, "--raw") == BELL_AND_CLEAR


@pytest.mark.parametrize("framing", ["--null", "--length-prefixed"])
def test_sub_refuses_other_framings_on_a_terminal(terminal, bus, framing):
    bus.publisher("t").send(BELL_AND_CLEAR)
    shown = terminal.run("sub", "t", "--start", "oldest", "--timeout", "0", framing, code=2)
    assert harmless(shown) and framing.encode() in shown


def test_json_is_the_same_value_without_a_character_that_a_terminal_obeys(cli, terminal, bus):
    bus.publisher("t", sender=f"\x1b{C1}").send(f"{C1}\U000e0001".encode(), type="\x1b[31m")
    arguments = ("sub", "t", "--start", "oldest", "--timeout", "0", "--format", "json")
    shown = terminal.run(*arguments)
    assert harmless(shown)
    for line in (shown, cli.run(*arguments).stdout):
        found = json.loads(line)
        expected = (f"\x1b{C1}", "\x1b[31m", f"{C1}\U000e0001")
        assert (found["sender"], found["type"], found["body"]) == expected


def test_the_answer_of_a_service_is_escaped(terminal, bus):
    with bus.server("evil") as server:
        server.method(lambda: f"\x1b[2J{C1}", name="text")
        server.start()
        shown = terminal.run("call", "evil", "text")
    assert harmless(shown) and json.loads(shown) == f"\x1b[2J{C1}"


def test_the_error_of_a_service_is_escaped(terminal, bus):
    def fail():
        raise RuntimeError(f"\x1b[2J{C1}")

    with bus.server("evil") as server:
        server.method(fail)
        server.start()
        shown = terminal.run("call", "evil", "fail", code=1)
    assert harmless(shown) and rb"\x1b[2J" in shown


@pytest.mark.parametrize(
    "verb", [("info", "t"), ("ls",), ("top", "--once", "--interval", "0.01"), ("doctor",)]
)
def test_tables_escape_the_names_of_strangers(terminal, bus, verb):
    publisher = bus.publisher("t", sender=f"\x1b[2J{C1}")
    assert harmless(terminal.run(*verb, env={"TERM": "dumb"}))  # a rich table has escapes of its own
    publisher.close()


def test_a_rich_table_escapes_the_names_of_strangers(terminal, bus):
    publisher = bus.publisher("t", sender="\x1b[2Jgyro")
    shown = terminal.run("info", "t", env={"TERM": "xterm"})
    assert rb"\x1b[2Jgyro" in shown and b"\x1b[2J" not in shown
    publisher.close()


@pytest.mark.foreign_files
def test_the_doctor_escapes_the_name_of_a_stray_file(terminal, bus):
    bus.create("t")
    with open(os.path.join(bus.path, "\x1b[2Jstray"), "w"):
        pass
    shown = terminal.run("doctor", code=1, env={"TERM": "dumb"})
    assert harmless(shown) and rb"\x1b[2Jstray" in shown


def test_a_picture_is_not_written_to_a_terminal(terminal, bus):
    assert b"redirect stdout" in terminal.run("frames", "cam", "--save", "-", code=2)
