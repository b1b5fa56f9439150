# SPDX-License-Identifier: Apache-2.0
"""A topic that cannot be used is an error for its clients, and is logged; other topics work (invariant 7)."""

import os
from pathlib import Path

import pytest

import slipring
from bridge.conftest import SERVER, free_port
from hostile.users import ANN
from slipring.bridge import Mirror, origin_files
from support.waiting import WATCHDOG_S, eventually

BOOT_ID_AT = 128  # docs/spec/memory-layout.md
DAMAGE = {
    "damaged": (0, bytes(64)),
    "of before the reboot": (BOOT_ID_AT, b"\x5a" * 16),
}


def damage(bus, topic: str, where: int, content: bytes) -> None:
    for kind in ("ring", "readers"):
        descriptor = os.open(Path(bus.path) / f"{topic}.{kind}", os.O_RDWR)
        os.pwrite(descriptor, content, where)
        os.close(descriptor)


def beats(remote, count: int = 3) -> None:
    """So many heartbeats of the server have passed."""
    for _ in range(count):
        heard = remote._link._heard
        eventually(lambda heard=heard: remote._link._heard > heard, "a sign of life")


@pytest.mark.parametrize(("where", "content"), DAMAGE.values(), ids=DAMAGE)
def test_a_server_serves_the_other_topics_of_a_bus_and_reports_the_bad_one(
    serve, connect, bus, where, content
):
    served = serve()
    remote = connect(served.address)
    good, bad = remote.publisher("good"), remote.publisher("bad")
    sub = remote.subscriber("good")
    assert (good.send(b"0"), bad.send(b"0")) == (0, 0)
    served.kill()
    damage(bus, "bad", where, content)
    served.restart()
    eventually(lambda: remote.connected, "the next connection")
    for number in range(1, 4):
        beats(remote)
        assert good.send(b"%d" % number) == number
    assert [sub.recv(WATCHDOG_S).seq for _ in range(4)] == [0, 1, 2, 3]
    unusable = (slipring.Corrupt, slipring.WrongLayout)
    for use in (
        lambda: remote.stats("bad"),
        lambda: remote.publisher("bad"),
        lambda: remote.subscriber("bad"),
    ):
        with pytest.raises(unusable):
            use()
    assert served.process.alive and "'bad'" in served.process.stderr
    assert remote.stats("good")["tail"] == 4


def test_a_topic_damaged_under_a_running_server_ends_its_own_subscriptions_only(serve, connect, bus):
    served = serve()
    remote = connect(served.address)
    good, bad = remote.subscriber("good"), remote.subscriber("bad")
    bus.publisher("good").send(b"0")
    local = bus.publisher("bad", capacity=4096, slots=16)
    local.send(b"0")
    assert bad.recv(WATCHDOG_S).seq == good.recv(WATCHDOG_S).seq == 0
    other = remote.subscriber("late")
    damage_of_late = Path(bus.path) / "late.ring"
    bus.create("elsewhere")
    damage(bus, "elsewhere", *DAMAGE["damaged"])
    for kind in ("readers", "ring"):  # a topic that is damaged when it appears
        os.rename(Path(bus.path) / f"elsewhere.{kind}", damage_of_late.with_suffix(f".{kind}"))
    with pytest.raises((slipring.Corrupt, slipring.WrongLayout)):
        other.recv(WATCHDOG_S)
    bus.publisher("good").send(b"1")
    assert good.recv(WATCHDOG_S).seq == 1
    assert served.process.alive


AS_ANN = """
import encodings.idna, logging, os, traceback, slipring.bridge  # what cannot be imported from root's home later
os.setgroups([])
os.setresgid(ann, ann, ann)
os.setresuid(ann, ann, ann)
bus = slipring.Bus("test", root=root)
"""


@pytest.mark.foreign_files  # the origin files lie beside the bus: the other user has no other place
def test_a_topic_of_another_user_is_denied_only_to_clients_that_ask_for_it(processes, bus_root, connect):
    if os.geteuid() != 0:
        pytest.fail("only root can become other users: run these tests as root (sudo make test)")
    os.chown(bus_root, ANN, ANN)
    settings = {"heartbeat_s": 0.2}
    variables = {"address": f"tcp://127.0.0.1:{free_port()}", "settings": settings, "state": None, "ann": ANN}
    served = processes.start(AS_ANN + SERVER, bus_name=None, **variables)
    remote = connect(served.hear())
    remote.publisher("bad").send(b"0")
    good = remote.publisher("good")
    served.kill()
    for kind in ("ring", "readers"):
        os.chown(bus_root / "test" / f"bad.{kind}", 0, 0)
        os.chmod(bus_root / "test" / f"bad.{kind}", 0o600)
    again = processes.start(AS_ANN + SERVER, bus_name=None, **variables)
    assert again.hear() == remote.path
    eventually(lambda: remote.connected, "the next connection")
    beats(remote)
    assert good.send(b"0") == 0
    with pytest.raises(slipring.Denied):
        remote.subscriber("bad")
    assert again.alive and "'bad'" in again.stderr
    assert remote.topics() == ["bad", "good"]
    remote.close()
    again.kill()


def test_tidying_keeps_the_origins_of_a_topic_that_cannot_be_read(bus, state):
    origin_files.Origin(bus, "bad", "test:origin", directory=state).close()
    origin_files.Origin(bus, "gone", "test:origin", directory=state).close()
    bus.remove("gone")
    damage(bus, "bad", *DAMAGE["damaged"])
    origin_files.tidy(bus, state)
    assert [about["topic"] for about in origin_files.origins(state)] == ["bad"]


def test_a_mirror_of_a_pattern_copies_the_other_topics_and_reports_the_bad_one(bus, bus_root, state):
    for topic in ("cam1", "cam2"):
        bus.publisher(topic).send(b"x")
    damage(bus, "cam1", *DAMAGE["damaged"])
    with (
        slipring.Bus("far", root=bus_root) as far,
        Mirror(bus, far, ["cam*"], source_state=state, target_state=state).start() as mirror,
    ):
        eventually(lambda: sum(one["mirrored"] for one in mirror.status()) == 1, "the mirroring")
        bad, good = mirror.status()
        assert (bad["topic"], bad["state"], good["state"]) == ("cam1", "waiting", "running")
        assert bad["problem"].startswith(("Corrupt", "WrongLayout"))
