# SPDX-License-Identifier: Apache-2.0
"""Encryption and authentication: right, wrong and missing keys; other clients are not affected."""

import os
import pickle
import stat

import pytest

import slipring
from slipring.bridge import Server, keys
from slipring.bridge import address as addresses
from support.waiting import WATCHDOG_S

TIMEOUT = "connect_timeout=3"


@pytest.fixture
def ring(tmp_path):
    """server, ann (allowed) and eve (not)."""
    keys.create(tmp_path, "server")
    keys.create(tmp_path / "clients", "ann")
    keys.create(tmp_path / "other", "eve")
    keys.create(tmp_path / "other", "impostor")
    return tmp_path


@pytest.fixture
def guarded(serve, ring):
    return serve(key=str(ring / "server.secret"), clients=str(ring / "clients"))


def with_keys(address: str, key, server_key) -> str:
    return f"{address}?key={key}&server_key={server_key}&{TIMEOUT}"


@pytest.fixture
def right(guarded, ring):
    return with_keys(guarded.address, ring / "clients/ann.secret", ring / "server.key")


def test_secret_keys_are_their_owner_s_alone_and_never_replaced(tmp_path):
    public, secret = keys.create(tmp_path / "k", "ann")
    assert stat.S_IMODE(os.stat(secret).st_mode) == 0o600
    before = secret.read_bytes(), public.read_bytes()
    with pytest.raises(slipring.BadArgument):
        keys.create(tmp_path / "k", "ann")
    assert (secret.read_bytes(), public.read_bytes()) == before


def test_an_allowed_client_can_connect(right, connect, bus):
    remote = connect(right)
    sub = bus.subscriber("t")
    remote.publisher("t").send(b"x")
    assert sub.recv(WATCHDOG_S).body == b"x"


def test_a_pickled_bus_names_the_key_files_and_holds_no_secret(right, ring, connect, monkeypatch):
    monkeypatch.chdir(ring)
    remote = connect(right.replace(f"{ring}/", ""))
    pickled = pickle.dumps(remote)
    secret = (ring / "clients/ann.secret").read_bytes().split()[-1]
    assert len(secret) == 40 and secret not in pickled
    monkeypatch.chdir("/")
    with pickle.loads(pickled) as copy:
        assert copy._address == addresses.parse(right) and copy.topics() == []


def test_messages_cannot_be_read_on_the_network(right, proxy, connect, guarded):
    seen = []
    way = proxy(guarded.address)
    way.watch = seen.append
    remote = connect(right.replace(guarded.address, way.address))
    remote.publisher("t").send(b"top secret body")
    plain = b"".join(seen)
    assert len(plain) > 500 and b"top secret" not in plain


@pytest.mark.parametrize(
    ("key", "server_key"),
    [("other/eve.secret", "server.key"), ("clients/ann.secret", "other/impostor.key"), (None, None)],
    ids=["not allowed", "another server's key", "no key"],
)
def test_wrong_or_missing_keys_are_denied_and_other_clients_are_not_affected(
    guarded, ring, right, connect, key, server_key
):
    inside = connect(right)
    sub = inside.subscriber("t")
    address = f"{guarded.address}?{TIMEOUT}"
    if key is not None:
        address = with_keys(guarded.address, ring / key, ring / server_key)
    with pytest.raises(slipring.Denied, match="key") as caught:
        slipring.Bus(address)
    assert guarded.address in str(caught.value) and caught.value.argument == "key"
    inside.publisher("t").send(b"x")
    assert sub.recv(WATCHDOG_S).body == b"x"


def test_keys_for_a_server_without_keys_are_denied(serve, ring):
    with pytest.raises(slipring.Denied):
        slipring.Bus(with_keys(serve().address, ring / "clients/ann.secret", ring / "server.key"))


def test_a_client_can_connect_while_its_key_file_exists(guarded, ring, connect):
    eve = with_keys(guarded.address, ring / "other/eve.secret", ring / "server.key")
    with pytest.raises(slipring.Denied):
        slipring.Bus(eve)
    allowed = ring / "clients/eve.key"
    allowed.write_bytes((ring / "other/eve.key").read_bytes())
    connect(eve).topics()
    allowed.unlink()
    with pytest.raises(slipring.Denied):
        slipring.Bus(eve)


def test_a_secret_that_others_can_read_is_not_used(ring, guarded, right):
    os.chmod(ring / "clients/ann.secret", 0o644)
    with pytest.raises(slipring.Denied, match="chmod"):
        slipring.Bus(right)


def test_without_keys_only_this_host_is_served_unless_insecure(bus, state):
    with pytest.raises(slipring.BadArgument) as caught:
        Server(bus, "tcp://0.0.0.0:0", state=state)
    assert caught.value.argument == "insecure"
    Server(bus, "tcp://0.0.0.0:0", state=state, insecure=True).close()
    with pytest.raises(slipring.BadArgument) as caught:
        slipring.Bus("zmq+tcp://192.0.2.1:5555/test")
    assert caught.value.argument == "insecure"


def test_an_incomplete_configuration_is_refused_by_name(bus, state, ring):
    with pytest.raises(slipring.BadArgument) as caught:
        Server(bus, "tcp://127.0.0.1:0", state=state, key=ring / "server.secret")
    assert caught.value.argument == "clients"
    with pytest.raises(slipring.BadArgument) as caught:
        slipring.Bus(f"zmq+tcp://127.0.0.1:5555/test?key={ring / 'server.secret'}")
    assert caught.value.argument == "server_key"
