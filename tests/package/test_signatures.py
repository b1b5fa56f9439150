# SPDX-License-Identifier: Apache-2.0
"""What editors, help() and type checkers see: every parameter by name, of compiled methods too."""

import inspect
import os
import pydoc
import subprocess
import sys

import pytest

import slipring

SETTINGS = [
    "capacity",
    "slots",
    "delivery",
    "writers",
    "mode",
    "max_readers",
    "max_writers",
    "max_cursors",
    "exist_ok",
]
PARAMETERS = {
    "create": ["topic", *SETTINGS],
    "publisher": ["topic", "sender", *SETTINGS],
    "join": ["topic", "sender", "own", "start", "lossy", *SETTINGS],
    "subscriber": [
        "topic",
        "start",
        "lossy",
        "cursor",
        "conflate",
        "types",
        "ignore_types",
        "ignore_senders",
        "expires",
    ],
    "cells": ["name", "dtype", "depth", "shape", "size", "mode", "exist_ok"],
    "frames": ["topic", "shape", "dtype", "buffers", "streams", "mode", "max_readers"],
    "server": [
        "service",
        "workers",
        "codec",
        "backlog",
        "tasks",
        "capacity",
        "max_clients",
        "mode",
        "tracebacks",
    ],
    "client": ["service", "timeout", "codec", "capacity", "max_answer", "window", "mode"],
}
COMPILED = {
    "Publisher": {"send": "(self, /, body, type='', timeout=Ellipsis)", "close": "(self, /)"},
    "Subscriber": {
        "recv": "(self, /, timeout=None)",
        "recv_many": "(self, /, n=1024, timeout=0)",
        "commit": "(self, seq=None, /)",
        "close": "(self, /)",
    },
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_setting_is_a_parameter_of_its_own(name):
    found = inspect.signature(getattr(slipring.Bus, name)).parameters
    assert set(PARAMETERS[name]) <= set(found)
    kinds = {parameter.kind for parameter in found.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


@pytest.mark.parametrize("name", PARAMETERS)
def test_an_unknown_keyword_is_refused_with_what_is_allowed(bus, name):
    with pytest.raises(TypeError) as refused:
        getattr(bus, name)("t", qos=10)
    said = str(refused.value)
    assert said.startswith(f"Bus.{name}() has no parameter 'qos': allowed are ")
    assert set(PARAMETERS[name]) <= set(said.partition("allowed are ")[2].split(", "))
    assert bus.topics() == []


def test_a_keyword_that_is_nearly_right_is_suggested(bus):
    with pytest.raises(TypeError, match=r"no parameter 'capcity' \(did you mean 'capacity'\?\)"):
        bus.publisher("t", capcity=4096)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_methods_have_signatures(name):
    for method, text in COMPILED[name].items():
        assert str(inspect.signature(getattr(getattr(slipring, name), method))) == text


@pytest.mark.parametrize("name", ["Publisher", "Subscriber"])
def test_every_public_method_has_a_signature_and_help(name):
    cls = getattr(slipring, name)
    for method in dir(cls):
        function = getattr(cls, method)
        if not method.startswith("_") and callable(function):
            assert inspect.signature(function).parameters
            shown = pydoc.render_doc(function, renderer=pydoc.plaintext)
            assert f"{method}(self" in shown
            assert function.__doc__.partition("\n")[0] in shown


def test_a_message_has_the_public_fields_in_its_signature():
    assert list(inspect.signature(slipring.Message).parameters) == [
        "body", "sender", "type", "seq", "time_ns", "topic",
    ]  # fmt: skip


PROGRAM = """
import slipring

bus = slipring.Bus("robot")
reveal_type(bus)
reveal_type(bus.publisher("imu", capacity="1MiB").send(b"x"))
reveal_type(bus.subscriber("imu").recv())
bus.publisher("imu", qos=10)
bus.publisher("imu", slots="many")
bus.server("calc", workers="one")
"""


def test_a_type_checker_finds_the_package_where_it_is_installed(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MYPYPATH", "PYTHONPATH")
    }
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--hide-error-context", "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )  # fmt: skip
    said = done.stdout
    revealed = [line.partition("Revealed type is ")[2] for line in said.splitlines() if "Revealed" in line]
    kinds = ['"slipring._bus.bus.Bus"', "int", "slipring._native.Message"]
    assert len(revealed) == 3, said + done.stderr
    assert all(kind in line for kind, line in zip(kinds, revealed, strict=True)), said
    wrong = [line for line in said.splitlines() if ": error:" in line]
    assert [line.partition(": error: ")[2].split('"')[1] for line in wrong] == ["qos", "slots", "workers"], (
        said
    )
