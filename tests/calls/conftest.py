# SPDX-License-Identifier: Apache-2.0
"""A started server with the methods that most tests need, and a client of it."""

import pytest

from support.calling import Gate, offer_usual


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.fixture
def server(bus, gate):
    with bus.server("calc") as server:
        offer_usual(server, gate)
        yield server.start()
        gate.opened.set()


@pytest.fixture
def client(bus, server):
    with bus.client("calc", timeout=20.0) as client:
        yield client
