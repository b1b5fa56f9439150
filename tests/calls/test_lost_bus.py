# SPDX-License-Identifier: Apache-2.0
"""A bus deleted under its server: the server ends with the cause, its clients get PeerGone (promise 24)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slipring
from support.waiting import eventually

SERVER = """
    import threading
    server = bus.server("calc")
    server.method(lambda value: value, name="echo")
    server.method(lambda: threading.Event().wait(), name="hang")
    server.start()
    say("ready")
    try:
        server.run()
    except slipring.TopicGone as error:
        say(type(error).__name__, str(error), server.closed)
"""


@pytest.fixture
def served(processes):
    server = processes.start(SERVER)
    server.expect("ready")
    return server


def delete_bus(bus) -> None:
    shutil.rmtree(bus.path)


def delete_presence(bus) -> None:
    bus.remove("calc.server")


@pytest.mark.parametrize("delete", [delete_bus, delete_presence])
def test_a_server_whose_files_are_deleted_ends_and_reports_the_cause(bus, served, delete):
    delete(bus)
    name, text, closed = served.hear()
    assert (name, closed) == ("TopicGone", True)
    assert "calc.server" in text and bus.path in text
    served.join()


@pytest.mark.parametrize("delete", [delete_bus, delete_presence])
def test_clients_of_a_lost_bus_get_peer_gone(bus, served, background, delete):
    with bus.client("calc", timeout=None) as client:
        assert client.call("echo", 1) == 1
        waiting = background(client.call, "hang")
        waiting.wait_until_asleep()
        delete(bus)
        with pytest.raises(slipring.PeerGone, match=r"server|deleted|removed"):
            waiting.result()
        with pytest.raises(slipring.PeerGone, match=r"server|deleted|removed"):
            client.call("echo", 2)
    served.hear()
    served.join()


def test_a_server_in_a_thread_is_closed_and_has_the_error(bus):
    with bus.server("calc") as server:
        server.start()
        assert server.error is None
        shutil.rmtree(bus.path)
        eventually(lambda: server.closed, "the server ending")
        assert isinstance(server.error, slipring.TopicGone)
    assert not os.path.exists(bus.path)


def test_another_server_may_follow_at_once(bus, served):
    shutil.rmtree(bus.path)
    served.hear()
    served.join()
    with bus.server("calc") as server, bus.client("calc", timeout=20) as client:
        server.method(lambda: "new", name="echo")
        server.start()
        assert client.call("echo") == "new"


def test_serve_echo_ends_with_one_line(bus):
    command = [str(Path(sys.executable).with_name("slipring")), "--root", bus.root, "--bus", bus.name]
    with subprocess.Popen([*command, "serve-echo", "calc"], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "serving" in process.stderr.readline()
            shutil.rmtree(bus.path)
            lines = process.stderr.read().splitlines()
            assert process.wait(60) not in (0, 130)
            assert len(lines) == 1
            assert "calc.server" in lines[0]
        finally:
            process.kill()
