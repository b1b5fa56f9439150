# SPDX-License-Identifier: Apache-2.0
"""The smallest reader, c/tap/tap.c: a hundred lines that open one file read-only."""

from pathlib import Path

from foreign.peers import HERE, Peer, run
from support.waiting import eventually


def lines(peer: Peer) -> list[list[str]]:
    return [line.split() for line in peer._popen.stdout.read().decode().splitlines()]


def test_the_smallest_reader_shows_what_is_there_and_counts_what_it_missed(bus, peers, tmp_path):
    run(
        "gcc",
        "-std=gnu11",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        HERE / "c/tap/tap.c",
        "-o",
        tmp_path / "tap",
    )
    bus.create("t", capacity=4096, slots=16)
    with bus.publisher("t", sender="python") as pub:
        pub.send(b"first", type="greeting")
        tap = Peer([str(tmp_path / "tap"), str(Path(bus.path, "t.ring"))], {})
        try:
            tap.wait_until_asleep()
            tap.stop()
            for number in range(500):
                pub.send(b"x" * number, type="many")
            pub.send(b"", type="end")
            tap.resume()
            eventually(lambda: not tap.alive, "the tap's end")
            first, *others, (_, lost) = lines(tap)
            assert first[0] == "0" and first[2:] == ["python", "greeting", "5"]
            assert others[-1][3] == "end"
            assert 1 + len(others) + int(lost) == 502
            assert bus.stats("t")["readers"] == []
        finally:
            tap.discard()
