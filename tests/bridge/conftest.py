# SPDX-License-Identifier: Apache-2.0
"""Bridges between real processes over loopback.

serve(**settings)      -> Served: a server in a process of its own, exporting the bus "test"; .address,
                          .kill(), .restart() at the same port
connect(address)       -> a remote bus, closed after the test
proxy(address)         -> Proxy: the same server through a connection that can be cut, stalled or replaced
"""

import socket

import pytest

import slipring
from bridge.proxy import Proxy

SERVER = """
import logging
from slipring.bridge import Server
logging.basicConfig()  # to stderr, for the test
with Server(bus, address, state=state, **settings) as server:
    say(server.address)
    server.run()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Served:
    def __init__(self, processes, state: str, settings: dict, bus_name: str = "test") -> None:
        self._processes, self._state, self._bus_name = processes, state, bus_name
        self._settings = {"heartbeat_s": 0.2, **settings}
        self._port = free_port()
        self.restart()

    def restart(self) -> None:
        variables = {
            "address": f"tcp://127.0.0.1:{self._port}",
            "state": self._state,
            "settings": self._settings,
        }
        self.process = self._processes.start(SERVER, bus_name=self._bus_name, **variables)
        self.address = self.process.hear()

    def kill(self) -> None:
        self.process.kill()


@pytest.fixture
def state(tmp_path):
    return str(tmp_path / "state")


@pytest.fixture
def serve(processes, state):
    return lambda **settings: Served(processes, state, settings)


@pytest.fixture
def connect():
    opened = []

    def start(address: str):
        opened.append(slipring.Bus(address))
        return opened[-1]

    yield start
    for bus in opened:
        bus.close()


@pytest.fixture
def proxy():
    started = []

    def start(address: str) -> Proxy:
        started.append(Proxy(address))
        return started[-1]

    yield start
    for each in started:
        each.close()
