# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the conformance suite: every test runs once for each backend that has what it needs."""

import pytest

from conformance.backends import BACKENDS, CAPABILITIES
from support.calling import Gate
from support.calling import client as client
from support.calling import server as server


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "needs(*capabilities): made only for backends that have them")


def needed(node) -> set[str]:
    names = {name for mark in node.iter_markers("needs") for name in mark.args}
    assert names <= set(CAPABILITIES), f"{node.nodeid} needs an unknown capability"
    return names


def pytest_generate_tests(metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        needs = needed(metafunc.definition)
        able = [name for name, backend in BACKENDS.items() if not needs & set(backend.lacks)]
        metafunc.parametrize("backend", able, indirect=True)


@pytest.fixture
def backend(request, bus_root):
    backend = BACKENDS[request.param](bus_root)
    yield backend
    backend.close()


@pytest.fixture
def bus(backend):
    with backend.open() as bus:
        yield bus


@pytest.fixture
def run(backend, bus):
    """asyncio.run, in the time of the bus."""
    return backend.run


@pytest.fixture
def background(backend, bus):
    """Starts ``fn(*args)`` beside the test; every such call has to end within the test."""
    calls = []

    def start(fn, *args, **kwargs):
        calls.append(backend.start(fn, *args, **kwargs))
        return calls[-1]

    yield start
    assert all(call.ended() for call in calls), "a background call of the test never ended"


# Calls


@pytest.fixture
def eventually(backend, bus):
    return backend.eventually


@pytest.fixture
def event(backend, bus):
    """An event for methods of servers to wait for."""
    return backend.event()


@pytest.fixture
def gate(backend, bus):
    gate = Gate(backend.semaphore(), backend.event())
    yield gate
    gate.opened.set()
