# SPDX-License-Identifier: Apache-2.0
"""What most tests of calls need: methods, and a started server of them with a client, on the `bus` and with the
`gate` of whichever conftest imports these fixtures."""

import threading

import pytest

import slipring


class Gate:
    """A method that waits inside the server until the test lets it go."""

    def __init__(self, entered=None, opened=None) -> None:
        self.entered = entered or threading.Semaphore(0)
        self.opened = opened or threading.Event()
        self.calls: list = []

    def __call__(self, token=None):
        self.calls.append(slipring.current_call())
        self.entered.release()
        assert self.opened.wait(60)
        return token


def offer_usual(server, gate=None):
    server.method(lambda a, b=0: a + b, name="add")
    server.method(lambda value: value, name="echo")
    server.method(lambda size: b"x" * size, name="big")

    @server.method
    def fail(text="no"):
        raise KeyError(text)

    @server.method
    def count(n, size=0):
        for number in range(n):
            yield bytes(size) if size else number

    @server.method
    async def later(value):
        return value

    @server.method
    async def acount(n):
        for number in range(n):
            yield number

    if gate is not None:
        server.method(gate, name="gate")


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
