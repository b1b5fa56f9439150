# SPDX-License-Identifier: Apache-2.0
"""What the package logs: by documented names, outside calls of the program's, and nothing unless it listens."""

import ast
import gc
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slipring
from support.waiting import WATCHDOG_S, eventually

TOP = Path(__file__).parents[2]
GUIDE = TOP / "docs/guides/logging.md"
LEVELS = ("debug", "info", "warning", "error")


def logged_in_sources() -> set[tuple[str, str]]:
    """Area and level of every event in the sources."""
    found = set()
    for path in (TOP / "src/slipring").rglob("*.py"):
        own = None
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Assign)
                and getattr(getattr(node.value, "func", None), "id", "") == "logger"
            ):
                own = node.value.args[0].value
            if not isinstance(node, ast.Call):
                continue
            if getattr(node.func, "id", "") == "log":
                found.add((node.args[0].value, node.args[1].value))
            elif own and getattr(getattr(node.func, "value", None), "id", "") == "log":
                found.add((own, {"exception": "error"}.get(node.func.attr, node.func.attr)))
    return found


def test_the_guide_lists_exactly_the_loggers_and_levels_of_the_sources():
    documented = set()
    for line in GUIDE.read_text().splitlines():
        if match := re.match(r"\| `slipring\.(\w+)` \|", line):
            cells = [cell.strip() for cell in line.split("|")[2:-1]]
            documented |= {(match[1], level) for level, cell in zip(LEVELS, cells, strict=True) if cell}
    assert documented == logged_in_sources()


def test_only_the_one_module_and_the_command_line_know_logging():
    importing = {
        str(path.relative_to(TOP / "src/slipring"))
        for path in (TOP / "src/slipring").rglob("*.py")
        if re.search(r"^\s*(import|from) logging\b", path.read_text(), re.MULTILINE)
    }
    assert importing == {"_bus/logs.py", "cli/verbs/bridge.py", "cli/spark_job.py"}


EVENTS = """
import asyncio, os, sys, threading, slipring

def take(sub):
    try:
        return sub.recv(0)
    except slipring.Corrupt:
        pass  # cam.b, once

with slipring.Bus("test", root=sys.argv[1]) as bus:
    with open(os.path.join(bus.path, "cam.b.ring"), "wb") as damaged:
        damaged.write(b"damaged")
    with bus.subscriber("cam.*") as sub:
        bus.create("cam.a", capacity=4096)
        while "cam.a" not in sub.topics:
            take(sub)
        bus.remove("cam.a")
        while "cam.a" in sub.topics:
            take(sub)
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(bus.subscriber("t").arecv())
    loop.run_until_complete(asyncio.sleep(0))
    waiting._log_destroy_pending = False
    loop.close()
    for thread in threading.enumerate():
        if thread.name == "slipring-waiter":
            thread.join()
"""


def run(root, *lines: str) -> subprocess.CompletedProcess:
    script = "\n".join([*lines, EVENTS])
    return subprocess.run(
        [sys.executable, "-c", script, str(root)],
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )


@pytest.mark.foreign_files
def test_events_are_silent_unless_logging_is_configured(bus_root):
    (bus_root / "test").mkdir()
    done = run(bus_root)
    assert (done.returncode, done.stderr) == (0, "")
    done = run(bus_root, "import logging")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.foreign_files
def test_events_reach_a_program_that_configures_logging(bus_root):
    (bus_root / "test").mkdir()
    done = run(bus_root, "import logging, sys", "logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)")
    assert done.returncode == 0, done.stderr
    assert "DEBUG:slipring.bus:pattern 'cam.*' reads topic 'cam.a'" in done.stdout
    assert "INFO:slipring.bus:topic 'cam.a' of pattern 'cam.*' was removed or replaced" in done.stdout
    assert "WARNING:slipring.bus:pattern 'cam.*' cannot read topic 'cam.b'" in done.stdout
    assert "WARNING:slipring.aio:an event loop was closed while 1 waits" in done.stdout


def test_a_remote_bus_logs_that_its_connection_is_lost_and_made_again(bus, caplog):
    pytest.importorskip("zmq")
    from slipring.bridge import Server

    caplog.set_level(logging.INFO, "slipring.bridge")
    bus.create("t", capacity=4096)
    with Server(bus, "tcp://127.0.0.1:0", heartbeat_s=0.1) as server:
        server.start()
        address = server.address
        remote = slipring.Bus(address)
    port = address.rpartition("/")[0].rpartition(":")[2]
    with remote, Server(bus, f"tcp://127.0.0.1:{port}", heartbeat_s=0.1) as server:
        server.start()

        def said() -> bool:
            texts = [record.getMessage() for record in caplog.records]
            lost = f"the connection to {address} is lost: connecting again"
            return lost in texts and texts[texts.index(lost) :].count(f"connected to {address}") == 1

        eventually(said, "both lines in the log")
    del remote
    gc.collect()
