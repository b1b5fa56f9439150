# SPDX-License-Identifier: Apache-2.0
"""Random SIGKILLs of processes that use cells, frames and calls; every element, frame and call is accounted for."""

import shutil

import pytest

import slipring
from crash.storms import structures_audit
from crash.storms.storm import KILLS, SECONDS, Storm, epochs
from crash.storms.structures import ELEMENT_BYTES, FRAME_SHAPE
from storm import audit
from storm.supervisor import Role

pytestmark = pytest.mark.timeout(900 + 3 * SECONDS + 2 * KILLS)  # a watchdog

FIRST, LAST = ("cells_writer", "frame_writer", "client"), ("cells_reader", "frame_reader", "server")


class Structures:
    """A finished storm and its processes by role."""

    def __init__(self, storm: Storm) -> None:
        self._lives = audit.lives(storm.work)
        assert audit.died(self._lives) == []

    def of(self, *names: str) -> list[audit.Life]:
        return [life for life in self._lives if life.name in names]


@pytest.fixture
def storms(bus_root, tmp_path, tally, workers_in_c):
    """Run the storms of a scenario. Yield the bus and the processes of each when all have ended."""

    def run(prepare, roles_of):
        for epoch, seconds, kills in epochs():
            with slipring.Bus("test", root=str(bus_root)) as bus:
                prepare(bus)
                storm = Storm(bus_root, tmp_path / str(epoch), roles_of(epoch))
                try:
                    for role in storm.roles:
                        storm.start(role)
                    storm.random_kills.expect_progress()
                    tally.time(storm, lambda s=storm, t=seconds, k=kills: s.random_kills.kill_for(t, k))
                    storm.board.order_stop()
                    storm.end(*FIRST)
                    for number in range(len(storm.topics)):
                        storm.board.order_end(0, number)
                    storm.end(*LAST)
                finally:
                    storm.close()
                tally.add(storm)
                yield bus, Structures(storm)
                bus.doctor(repair=True)
                for topic in bus.topics():
                    bus.remove(topic)
                assert list((bus_root / "test").iterdir()) == []
            shutil.rmtree(storm.work)

    return run


def role(name: str, function: str, topic: str, in_c: bool, mortal: bool = True) -> Role:
    return Role(name, f"crash.storms.structures:{function}", topic, {}, mortal, in_c)


def test_kills_of_either_end_of_cells_leave_the_other_whole_elements_in_order(storms, tally):
    def prepare(bus) -> None:
        for name in ("read", "written"):
            bus.cells(name, size=ELEMENT_BYTES, depth=3)

    def roles(epoch: int) -> list[Role]:
        in_c = epoch % 2 == 1
        return [
            role("steady writer", "cells_writer", "read", in_c, mortal=False),
            role("killed reader", "cells_reader", "read", not in_c),
            role("killed writer", "cells_writer", "written", not in_c),
            role("steady reader", "cells_reader", "written", in_c, mortal=False),
        ]

    for bus, ended in storms(prepare, roles):
        for topic, writer, reader in (
            ("read", "steady writer", "killed reader"),
            ("written", "killed writer", "steady reader"),
        ):
            stats = bus.cells(topic).stats()
            tally.audited["elements"] += structures_audit.cells(ended.of(writer), ended.of(reader), stats)
            bus.remove(topic)


def test_kills_of_writers_and_readers_of_frames_leave_whole_frames_and_exact_accounts(storms, tally):
    def prepare(bus) -> None:
        for name in ("steady", "killed"):
            with bus.frames(name, shape=FRAME_SHAPE, buffers=6).publisher():
                pass

    def roles(epoch: int) -> list[Role]:
        in_c = epoch % 2 == 1
        return [
            role("witness", "frame_reader", "killed", False, mortal=False),
            role("other witness", "frame_reader", "steady", False, mortal=False),
            role("killed reader", "frame_reader", "killed", not in_c),
            role("other killed reader", "frame_reader", "steady", in_c),
            role("killed writer", "frame_writer", "killed", in_c),
            role("steady writer", "frame_writer", "steady", not in_c, mortal=False),
        ]

    for bus, ended in storms(prepare, roles):
        for topic, writer, witness, killed in (
            ("killed", "killed writer", "witness", "killed reader"),
            ("steady", "steady writer", "other witness", "other killed reader"),
        ):
            with bus.frames(topic).publisher() as pub, pub.frame() as array:
                array[...] = 0
            with bus.frames(topic).subscriber(start="last").recv(60) as last:
                total = last.id
            readers = ended.of(witness, killed)
            tally.audited["frames"] += structures_audit.frames(ended.of(writer), readers, {killed}, total)


def test_kills_of_servers_and_clients_leave_every_call_answered_correctly_or_failed(storms, tally):
    def roles(epoch: int) -> list[Role]:
        return [
            role("killed server", "server", "fragile", False),
            role("steady server", "server", "solid", False, mortal=False),
            role("steady client", "client", "fragile", False, mortal=False),
            role("killed client", "client", "solid", False),
            role("other killed client", "client", "solid", False),
        ]

    for _, ended in storms(lambda bus: None, roles):
        for server, clients in (
            ("killed server", ["steady client"]),
            ("steady server", ["killed client", "other killed client"]),
        ):
            mortal = server == "killed server"
            answered, gone = structures_audit.calls(ended.of(server), ended.of(*clients), mortal)
            tally.audited["answered calls"] += answered
            tally.audited["calls given up"] += gone
