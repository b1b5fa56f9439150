# SPDX-License-Identifier: Apache-2.0
"""Random SIGKILLs among the users of cells, frames and calls; every element, frame and call accounted for."""

import shutil

import pytest

import slipring
from crash import structures_audit as audit
from crash.company import KILLS, PRELOAD, SECONDS, Company, Part, epochs
from crash.fleet import Fleet
from crash.structures import ELEMENT_BYTES, FRAME_SHAPE

pytestmark = pytest.mark.timeout(600 + 2 * SECONDS + KILLS)  # a watchdog

WRITERS = ("cells_writer", "frame_writer")


class Structures(Company):
    """Those that write or ask end first, then those that read or serve."""

    actors = "crash.structures"

    def can_go_on_without(self, victims: list[Part]) -> bool:
        return not any(part.publishes or part.target == "client" for part in victims)

    def finish(self) -> None:
        first = (*WRITERS, "client")
        self.board.order_stop()
        for part in self.parts:
            if part.target in first:
                self.join(part)
        self.board.order_end(0)
        for part in self.parts:
            if part.target not in first:
                self.join(part)


@pytest.fixture
def storms(bus_root, tmp_path, tally, participants):
    """Storms of a scenario's share; yields the bus and the company when all have ended."""

    def run(prepare, parts_of):
        for epoch, seconds, kills in epochs():
            work = tmp_path / str(epoch)
            work.mkdir()
            with slipring.Bus("test", root=str(bus_root)) as bus, Fleet(preload=PRELOAD) as fleet:
                prepare(bus)
                company = Structures(fleet, bus_root, work, "", parts_of(epoch))
                for part in company.parts:
                    company.start(part)
                company.expect_progress()
                tally.time(company, lambda c=company, t=seconds, k=kills: c.kill_for(t, k))
                company.finish()
                tally.add(company)
                yield bus, company
                company.close()
                bus.doctor(repair=True)
                for topic in bus.topics():
                    bus.remove(topic)
                assert list((bus_root / "test").iterdir()) == []
            shutil.rmtree(work)

    return run


def part(name: str, target: str, topic: str, in_c: bool, mortal: bool = True) -> Part:
    return Part(name, target, {}, mortal, in_c, topic)


def test_kills_of_either_end_of_cells_leave_the_other_whole_elements_in_order(storms, tally):
    def prepare(bus) -> None:
        for name in ("read", "written"):
            bus.cells(name, size=ELEMENT_BYTES, depth=3)

    def parts(epoch: int) -> list[Part]:
        in_c = epoch % 2 == 1
        return [
            part("steady writer", "cells_writer", "read", in_c, mortal=False),
            part("killed reader", "cells_reader", "read", not in_c),
            part("killed writer", "cells_writer", "written", not in_c),
            part("steady reader", "cells_reader", "written", in_c, mortal=False),
        ]

    for bus, company in storms(prepare, parts):
        for writer, reader in (company.parts[:2], company.parts[2:]):
            tally.audited["elements"] += audit.cells(writer, reader, bus.cells(writer.topic).stats())
            bus.remove(writer.topic)


def test_kills_of_writers_and_readers_of_frames_leave_whole_frames_and_exact_accounts(storms, tally):
    def prepare(bus) -> None:
        for name in ("steady", "killed"):
            with bus.frames(name, shape=FRAME_SHAPE, buffers=6).publisher():
                pass

    def parts(epoch: int) -> list[Part]:
        in_c = epoch % 2 == 1
        return [
            part("witness", "frame_reader", "killed", False, mortal=False),
            part("other witness", "frame_reader", "steady", False, mortal=False),
            part("killed reader", "frame_reader", "killed", not in_c),
            part("other killed reader", "frame_reader", "steady", in_c),
            part("killed writer", "frame_writer", "killed", in_c),
            part("steady writer", "frame_writer", "steady", not in_c, mortal=False),
        ]

    for bus, company in storms(prepare, parts):
        for writer in company.parts[4:]:
            readers = [one for one in company.parts[:4] if one.topic == writer.topic]
            with bus.frames(writer.topic).publisher() as pub, pub.frame() as array:
                array[...] = 0
            with bus.frames(writer.topic).subscriber(start="last").recv(60) as last:
                total = last.id
            tally.audited["frames"] += audit.frames(writer, readers, total)


def test_kills_of_servers_and_clients_leave_every_call_answered_rightly_or_given_up(storms, tally):
    def parts(epoch: int) -> list[Part]:
        return [
            part("killed server", "server", "fragile", False),
            part("steady server", "server", "solid", False, mortal=False),
            part("steady client", "client", "fragile", False, mortal=False),
            part("killed client", "client", "solid", False),
            part("other killed client", "client", "solid", False),
        ]

    for _, company in storms(lambda bus: None, parts):
        for server, clients in (
            (company.parts[0], company.parts[2:3]),
            (company.parts[1], company.parts[3:]),
        ):
            answered, gone = audit.calls(server, clients)
            tally.audited["answered calls"] += answered
            tally.audited["calls given up"] += gone
