# SPDX-License-Identifier: Apache-2.0
"""core/examples/hello.c, compiled by a command of its head comment, exchanges messages with Python processes."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

import slipring
from support.waiting import WATCHDOG_S

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "core/examples/hello.c"


@pytest.fixture(scope="module")
def hello(tmp_path_factory) -> Path:
    [line] = re.findall(r"^ \* +(cc -std=c11 .* -o hello)$", EXAMPLE.read_text(), re.MULTILINE)
    program = tmp_path_factory.mktemp("example") / "hello"
    command = line.replace("-o hello", f"-Wall -Wextra -Werror -o {shlex.quote(str(program))}")
    built = subprocess.run(command, shell=True, cwd=REPOSITORY, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture
def start_c(hello, bus):
    started: list[subprocess.Popen] = []

    def start(*arguments: str) -> subprocess.Popen:
        started.append(
            subprocess.Popen([hello, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def finish(process: subprocess.Popen) -> list[str]:
    out, err = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 0, err
    return out.splitlines()


def test_python_process_receives_what_a_c_program_sends(bus, processes, start_c):
    bus.create("greetings")
    child = processes.start("""
        with bus.subscriber("greetings") as sub:
            say("ready")
            for _ in range(3):
                msg = sub.recv()
                say(msg.seq, msg.sender, msg.type, msg.body)
    """)
    child.expect("ready")
    sent = finish(start_c("publish", str(bus.path), "greetings", "hello", "", "wörld"))
    assert sent == ["sent 0", "sent 1", "sent 2"]
    for seq, text in enumerate(["hello", "", "wörld"]):
        child.expect((seq, "hello.c", "text", text.encode()))
    child.join()


def test_c_program_receives_what_a_python_process_sends(bus, processes, start_c):
    bus.create("greetings", delivery="reliable")
    program = start_c("subscribe", str(bus.path), "greetings", "2")
    assert program.stdout.readline() == "ready\n"
    processes.start("""
        with bus.publisher("greetings", sender="python") as pub:
            pub.send(b"hi", type="text")
            with pub.loan(5, type="loan") as view:
                view[:] = b"there"
    """).join()
    assert finish(program) == ["0 from python, text: hi", "1 from python, loan: there"]


def test_c_program_creates_the_topic_that_python_opens(bus, start_c):
    bus.create("by-python")  # Python makes the directory of a bus
    finish(start_c("publish", str(bus.path), "made-by-c", "first"))
    with bus.subscriber("made-by-c", start="oldest") as sub:
        assert sub.recv(timeout=WATCHDOG_S).body == b"first"


def test_killed_c_subscriber_holds_up_no_python_publisher(bus, start_c):
    bus.create("greetings", capacity=4096, slots=16, delivery="reliable")
    program = start_c("subscribe", str(bus.path), "greetings", "1000000")
    assert program.stdout.readline() == "ready\n"
    os.kill(program.pid, signal.SIGSTOP)
    with bus.publisher("greetings", sender="python") as pub:
        with pytest.raises(slipring.Full):
            for _ in range(100):
                pub.send(b"into a full ring", timeout=0)
        program.kill()
        program.wait(WATCHDOG_S)
        for _ in range(100):
            pub.send(b"on it goes", timeout=WATCHDOG_S)


def test_c_program_names_what_is_wrong(bus, start_c):
    program = start_c("subscribe", str(bus.path), "missing", "1")
    _, err = program.communicate(timeout=WATCHDOG_S)
    assert program.returncode == 1
    assert "missing" in err
