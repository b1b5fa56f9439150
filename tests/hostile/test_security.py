# SPDX-License-Identifier: Apache-2.0
"""What users with access can do to each other, and what they cannot: the statements of docs/security.md."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

import slipring

RING = {"capacity": 4096, "slots": 16}


def test_a_sender_is_a_claim_and_no_proof(bus):
    bus.publisher("t", sender="ann", **RING).close()
    with bus.publisher("t", sender="ann") as mallory, bus.subscriber("t") as sub:
        mallory.send(b"from ann, says mallory")
        assert sub.recv(timeout=60).sender == "ann"


def test_a_body_that_looks_like_the_topics_own_structures_is_only_a_body(bus):
    with bus.publisher("t", delivery="reliable", **RING) as pub, bus.subscriber("t") as sub:
        ring = Path(bus.path) / "t.ring"
        for offset in range(0, ring.stat().st_size, 1024):
            body = ring.read_bytes()[offset : offset + 1024]
            pub.send(body, timeout=0)
            assert sub.recv(timeout=60).body == body
    assert bus.doctor() == []


def test_a_subscriber_can_hold_publishers_of_a_reliable_topic_back_and_is_seen(bus, processes):
    child = processes.start(
        """
        sub = bus.subscriber("t", start="oldest")
        say("there")
        hear()
        """
    )
    with bus.publisher("t", delivery="reliable", **RING) as pub:
        child.expect("there")
        with pytest.raises(slipring.Full):
            for _ in range(100):
                pub.send(b"m", timeout=0)
        [reader] = bus.stats("t")["readers"]
        assert reader["pid"] == child.pid and reader["alive"]
        child.kill()
        pub.send(b"m", timeout=60)


def test_who_may_write_the_reader_table_can_hold_publishers_back_but_not_change_a_message(bus):
    with bus.publisher("t", delivery="reliable", **RING) as pub, bus.subscriber("t", lossy=True) as sub:
        before = [pub.send(b"%d" % number, timeout=0) for number in range(3)]
        table = Path(bus.path) / "t.readers"
        with table.open("r+b") as file:  # what a hostile subscriber may write: everything behind the header
            file.seek(4096)
            file.write(b"\x02" + b"\xff" * 7 + bytes(120))
        assert [message.seq for message in sub.recv_many(3, timeout=60)] == before
        with contextlib.suppress(slipring.SlipringError):  # Full, or it goes on: an answer, at once
            pub.send(b"m", timeout=0)


@pytest.mark.foreign_files
def test_who_may_write_a_file_can_cut_it_and_kill_its_users(bus, processes):
    """Not defended: no file system of the kernel's forbids it. So the modes are the access control."""
    bus.create("t", **RING)
    child = processes.start("sub = bus.subscriber('t')\nsay('there')\nhear()\nsub.recv(timeout=1)")
    child.expect("there")
    os.truncate(Path(bus.path) / "t.ring", 4096)
    child.say("go")
    assert child.join(code=None) == -signal.SIGBUS
