# SPDX-License-Identifier: Apache-2.0
"""What crosses to another process: a Bus and messages do, handles say what to do instead."""

import copy
import pickle
import subprocess
import sys

import pytest

import slipring
from slipring.testing import SteppedBus

POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import slipring


def send(bus, number):
    with bus.publisher("t", sender="worker") as pub:
        pub.send(b"%d" % number)
    return bus.name, bus.path


def received(message):
    return message.topic, message.body


if __name__ == "__main__":
    with slipring.Bus("test", root=sys.argv[1]) as bus:
        bus.create("t", capacity=4096)
        sub = bus.subscriber("t")
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            assert set(pool.map(send, [bus] * 4, range(4))) == {(bus.name, bus.path)}
            messages = sub.recv_many(10)
            print(sorted(pool.map(received, messages)))
        process = multiprocessing.get_context("spawn").Process(target=send, args=(bus, 4))
        process.start()
        process.join()
        print(process.exitcode, sub.recv(0).body)
"""


def test_a_bus_goes_to_spawned_processes_and_pools(bus_root, tmp_path):
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    done = subprocess.run([sys.executable, program, bus_root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    sent = [("t", b"%d" % number) for number in range(4)]
    assert done.stdout.splitlines() == [str(sent), "0 b'4'"]


def test_an_unpickled_bus_is_the_same_bus_with_handles_of_its_own(bus):
    sub = bus.subscriber("t")
    with pickle.loads(pickle.dumps(bus)) as other:
        assert (type(other), other.name, other.root, other.path) == (
            slipring.Bus,
            bus.name,
            bus.root,
            bus.path,
        )
        other.publisher("t", capacity=4096).send(b"x")
    assert sub.recv(timeout=0).body == b"x"


def test_a_pickled_bus_keeps_its_root_where_the_default_is_another(bus, monkeypatch):
    pickled = pickle.dumps(bus)
    monkeypatch.setenv("SLIPRING_ROOT", "/nowhere/else")
    assert pickle.loads(pickled).root == bus.root


def test_a_closed_bus_cannot_be_pickled(bus_root):
    bus = slipring.Bus("test", root=bus_root)
    bus.close()
    with pytest.raises(slipring.Closed):
        pickle.dumps(bus)


def make_handles(bus):
    """Every kind of handle by the name its error has."""
    pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
    pub.send(b"in view")
    server, client = bus.server("calc", codec="raw"), bus.client("calc", codec="raw")
    cells = bus.cells("c", size=8)
    frames = bus.frames("f", shape=(2, 2))
    publisher, subscriber = frames.publisher(), frames.subscriber()
    return [
        pub, sub, bus.join("chat", "ann", capacity=4096), bus.subscriber("t*"), pub.loan(8), sub.view(0),
        cells, cells.writer(), cells.reader(), frames, publisher, subscriber, publisher.frame(),
        subscriber.recv(0), server, client,
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["shm", "stepped"])
def test_the_error_for_a_pickled_handle_names_the_bus_instead(bus, kind):
    pytest.importorskip("numpy")
    with bus if kind == "shm" else SteppedBus() as made_from:
        for handle in make_handles(made_from):
            name = type(handle).__name__
            said = f"a {name} cannot be pickled: pass the Bus to the other process and open it there"
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with pytest.raises(TypeError) as refused:
                    pickle.dumps(handle, protocol)
                assert str(refused.value) == said


def test_a_stepped_bus_cannot_be_pickled():
    with SteppedBus() as bus, pytest.raises(TypeError, match="SteppedBus cannot be pickled"):
        pickle.dumps(bus)


def test_a_message_is_a_value(bus):
    pub, sub = bus.publisher("t", sender="me", capacity=4096), bus.subscriber("t")
    pub.send(b"body", type="kind")
    message = sub.recv(timeout=0)
    assert pickle.loads(pickle.dumps(message)) == message == copy.copy(message)


def test_a_message_in_place_is_pickled_with_its_bytes(bus):
    pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
    pub.send(b"in place")
    with sub.view(timeout=0) as message:
        pickled = pickle.dumps(message)
    again = pickle.loads(pickled)
    assert (again.body, again.seq, again.topic) == (b"in place", 0, "t")
