# SPDX-License-Identifier: Apache-2.0
"""The same code over ZeroMQ (promise 27): what a message carries, both deliveries, errors."""

import asyncio
import os
import pickle
import re
import signal

import pytest

import slipring
from slipring.bridge import RemoteBus
from slipring.testing import SteppedBus
from support.waiting import WATCHDOG_S, eventually


@pytest.fixture
def remote(serve, connect):
    return connect(serve().address)


def test_a_bus_with_an_address_is_a_remote_one_and_a_bus(remote):
    assert isinstance(remote, RemoteBus) and isinstance(remote, slipring.Bus)


def test_a_bus_is_remote_by_configuration_alone(serve, monkeypatch):
    address = serve().address
    monkeypatch.setenv("SLIPRING_ROOT", address.rpartition("/")[0])
    with slipring.Bus("test") as bus:
        assert isinstance(bus, RemoteBus)
        bus.create("t")
        assert bus.topics() == ["t"]


def test_a_message_arrives_with_all_its_fields(remote, bus):
    local = bus.subscriber("t")
    sub = remote.subscriber("t")
    seq = remote.publisher("t", sender="ann").send(b"body", type="a.v1")
    got, same = sub.recv(WATCHDOG_S), local.recv(WATCHDOG_S)
    assert (got.seq, got.body, got.type, got.sender, got.topic) == (seq, b"body", "a.v1", "ann", "t")
    assert got == same  # time stamp included


def test_a_message_of_a_local_publisher_arrives_with_its_own_time_stamp(remote, bus):
    sub, local = remote.subscriber("t"), bus.subscriber("t")
    bus.publisher("t", sender="bob").send(b"x", type="k")
    assert sub.recv(WATCHDOG_S) == local.recv(WATCHDOG_S)


def test_a_recv_without_waiting_returns_messages_published_before(remote, bus):
    sub = remote.subscriber("t")
    pub = bus.publisher("t")
    for number in range(50):
        pub.send(b"%d" % number)
        assert sub.recv(0).body == b"%d" % number
    assert sub.recv(0) is None


def test_a_slow_remote_reader_of_a_lossy_topic_counts_its_loss_exactly(remote, bus):
    pub = bus.publisher("t", capacity=4096, slots=16)
    sub = remote.subscriber("t")
    sent = 0
    while sub.lost == 0:
        assert sent < 1_000_000
        pub.send_many([b"x" * 100] * 100)
        sent += 100
        assert sub.recv(WATCHDOG_S) is not None
    received = sub.received + len(sub.recv_many(sent))
    assert received + sub.lost == sent and sub.filtered == 0
    assert sub.position == sent


def test_filters_are_counted_exactly(remote, bus):
    pub = bus.publisher("t", sender="ann")
    sub = remote.subscriber("t", types=["a"], ignore_senders=["eve"])
    for number in range(30):
        pub.send(b"%d" % number, type="ab"[number % 2])
    bus.publisher("t", sender="eve").send(b"x", type="a")
    assert [m.body for m in sub.recv_many(100)] == [b"%d" % n for n in range(0, 30, 2)]
    assert sub.recv(0) is None
    assert (sub.received, sub.lost, sub.filtered, sub.position) == (15, 0, 16, 31)


def test_conflate_gives_the_newest(remote, bus):
    pub = bus.publisher("t")
    sub = remote.subscriber("t", conflate=True)
    for number in range(100):
        pub.send(b"%d" % number)
    assert sub.recv(WATCHDOG_S).body == b"99"
    pub.send(b"100")
    assert sub.recv(WATCHDOG_S).body == b"100"
    assert sub.recv(0) is None
    assert sub.received + sub.lost + sub.filtered == 101


def test_a_remote_reader_that_does_not_read_holds_back_a_reliable_publisher_and_loses_nothing(remote, bus):
    pub = bus.publisher("t", delivery="reliable", capacity=4096, slots=16)
    sub = remote.subscriber("t")
    sent = 0
    with pytest.raises(slipring.Full):
        while True:
            pub.send(b"%d" % sent, timeout=1)
            sent += 1
    assert sent == 15
    got = []
    while len(got) < sent:
        got += sub.recv_many(100, timeout=WATCHDOG_S)
    assert [m.body for m in got] == [b"%d" % number for number in range(sent)]
    assert sub.lost == 0
    pub.send(b"x", timeout=WATCHDOG_S)


def test_a_remote_publisher_waits_for_a_local_reliable_reader(remote, bus, background):
    pub = remote.publisher("t", delivery="reliable", capacity=4096, slots=16)
    sub = bus.subscriber("t")
    for number in range(15):
        pub.send(b"%d" % number)
    with pytest.raises(slipring.Full):
        pub.send(b"15", timeout=0)
    waiting = background(pub.send, b"15")
    assert not waiting.ended(0.2)
    assert sub.recv(0).body == b"0"
    assert [m.body for m in sub.recv_many(20)][-1] in (b"14", b"15")
    assert waiting.result() == 15


def test_starts_seek_and_cursors_are_those_of_the_topic(remote, bus):
    pub = bus.publisher("t", delivery="reliable")
    pub.send_many([b"%d" % number for number in range(10)])
    assert remote.subscriber("t", start="last").recv(WATCHDOG_S).body == b"9"
    assert remote.subscriber("t", start=4).recv(WATCHDOG_S).body == b"4"
    sub = remote.subscriber("t", start="oldest", cursor="c")
    assert [m.body for m in sub.recv_many(3, 5)] == [b"0", b"1", b"2"]
    sub.commit()
    assert sub.recv(WATCHDOG_S).body == b"3"
    with pytest.raises(slipring.Busy):
        bus.subscriber("t", cursor="c")
    sub.seek(8)
    assert sub.recv(WATCHDOG_S).body == b"8"
    sub.close()
    assert bus.cursors("t")[0]["position"] == 3
    assert bus.subscriber("t", cursor="c").recv(WATCHDOG_S).body == b"3"


def test_a_subscriber_can_be_opened_before_its_topic(remote, bus):
    sub = remote.subscriber("t")
    assert not sub.attached and sub.recv(0) is None
    bus.publisher("t").send(b"x")
    assert sub.recv(WATCHDOG_S).body == b"x"
    assert sub.attached


def test_wait_returns_the_subscriber_with_a_message(remote, bus):
    subs = [remote.subscriber(f"t{number}") for number in range(20)]
    assert slipring.wait(subs, 0.05) == []
    bus.publisher("t7").send(b"x")
    assert slipring.wait(subs, 5) == [subs[7]]


@pytest.mark.parametrize("order", [1, -1], ids=["local first", "remote first"])
def test_local_and_remote_subscribers_are_waited_for_together(remote, bus, background, order):
    pubs = bus.publisher("here"), bus.publisher("there")
    subs = [bus.subscriber("here"), remote.subscriber("there")]
    asked = subs[::order]
    assert slipring.wait(asked, 0.02) == []
    for number in (0, 1, 1, 0):
        waiting = background(slipring.wait, asked)
        waiting.wait_until_asleep()
        pubs[number].send(b"x")
        assert waiting.result() == [subs[number]]
        assert subs[number].recv(WATCHDOG_S).body == b"x"


def test_a_stepped_subscriber_is_not_waited_for_with_others(remote, bus):
    with SteppedBus("other") as other, pytest.raises(slipring.BadArgument, match="stepped") as caught:
        slipring.wait([other.subscriber("t"), bus.subscriber("t"), remote.subscriber("t")], 0)
    assert caught.value.argument == "subscribers"


def test_a_removed_topic_ends_a_subscriber_whose_window_is_full(remote, bus):
    pub, sub = bus.publisher("t"), remote.subscriber("t")
    pub.send_many([b"x"] * 5000)
    eventually(lambda: len(sub._arrivals._queue) >= 1024, "a full window")
    bus.remove("t")

    def is_gone() -> bool:
        with pytest.raises(slipring.TopicGone):
            while True:
                sub.recv(0)
        return True

    assert eventually(lambda: sub.has_something() and sub._error is not None and is_gone())


def test_asyncio_uses_the_same_subscriber(remote, bus):
    async def main():
        sub = remote.subscriber("t")
        task = asyncio.create_task(sub.arecv(WATCHDOG_S))
        await asyncio.sleep(0)
        bus.publisher("t").send(b"x")
        first = await task
        bus.publisher("t").send(b"y")
        async for message in sub:
            return first.body + message.body

    assert asyncio.run(main()) == b"xy"


def test_batches_have_the_columns_of_local_ones(remote, bus):
    pub = bus.publisher("t", sender="ann")
    local, sub = bus.subscriber("t"), remote.subscriber("t")
    pub.send_many([b"a", b"bc"], type="k")
    assert sub.recv_batch(10, 5).equals(local.recv_batch(10, 5))


def test_topics_are_created_described_and_removed(remote, bus):
    remote.create("t", capacity="64KiB", delivery="reliable")
    assert remote.topics() == bus.topics() == ["t"]
    assert remote.stats("t")["capacity"] == 65536
    with pytest.raises(slipring.TopicExists) as caught:
        remote.create("t", capacity="1MiB")
    assert (caught.value.found, caught.value.asked) == ("65536", "1048576")
    sub = remote.subscriber("t")
    remote.remove("t")
    with pytest.raises(slipring.TopicGone):
        sub.recv(WATCHDOG_S)
    with pytest.raises(slipring.TopicNotFound):
        remote.remove("t")


def test_a_second_exclusive_publisher_is_refused(remote):
    first = remote.publisher("t", writers="one")
    with pytest.raises(slipring.Busy):
        remote.publisher("t")
    assert first.send(b"x") == 0


def test_a_message_that_is_too_large_is_refused_and_the_topic_works_on(remote):
    pub = remote.publisher("t", capacity=4096)
    with pytest.raises(slipring.TooLarge):
        pub.send(bytes(5000))
    with pytest.raises(slipring.TooLarge):
        pub.send_many([b"x", bytes(5000)])
    assert pub.send(b"x") == 0


def test_a_message_over_the_limit_of_the_server_is_refused_before_it_is_sent(serve, connect):
    pub = connect(serve(max_message="1MiB").address).publisher("t")
    with pytest.raises(slipring.TooLarge):
        pub.send(bytes(2 << 20))
    assert pub.send(bytes(1 << 20)) == 0


def test_an_address_without_a_server_is_a_timeout_that_names_it():
    address = "zmq+tcp://127.0.0.1:1/test?connect_timeout=0.3"
    with pytest.raises(slipring.Timeout, match=r"127\.0\.0\.1:1"):
        slipring.Bus(address)


def test_another_bus_is_refused_naming_both(serve):
    address = serve().address
    with pytest.raises(slipring.BadArgument, match="'test', not 'other'"):
        slipring.Bus(address.replace("/test", "/other"))


def test_another_version_of_the_protocol_is_refused(serve, monkeypatch):
    from slipring.bridge import wire

    monkeypatch.setattr(wire, "VERSION", 99)
    with pytest.raises(slipring.WrongLayout, match="version"):
        slipring.Bus(serve().address)


@pytest.mark.parametrize(
    "address",
    ["zmq+tcp://127.0.0.1/test", "zmq+tcp://127.0.0.1:5555", "zmq+udp://127.0.0.1:5555/test",
     "zmq+tcp://127.0.0.1:5555/test?what=1", "zmq+tcp://:5555/test", "zmq+tcp://127.0.0.1:99999/test"],
)  # fmt: skip
def test_a_wrong_address_is_refused_by_name(address):
    with pytest.raises(slipring.BadArgument) as caught:
        slipring.Bus(address)
    assert caught.value.argument == "name"


def test_a_forked_child_is_refused(remote):
    sub = remote.subscriber("t")
    pid = os.fork()
    if pid == 0:
        try:
            sub.recv(0)
        except slipring.ForkedHandle:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert sub.recv(0) is None


FORKED = """
import os, signal, threading
remote = slipring.Bus(address)
pub = remote.publisher("t", delivery="reliable", capacity=4096, slots=16)
sub, held = remote.subscriber("t"), remote.subscriber("held")
inside = threading.Thread(target=lambda: pub.send_many([b"x"] * 100), daemon=True)  # waits: nobody reads
inside.start()
while bus.stats("t")["tail"] < 15:
    pass
taken, over = threading.Event(), threading.Event()

def take_locks():  # that threads hold at times: the link's own, and those of the program
    with sub._changed, held._changed, remote._link.queue._lock:
        taken.set()
        over.wait()

threading.Thread(target=take_locks, daemon=True).start()
taken.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(watchdog_s)  # a child that hangs is not left behind
    uses = {
        "send": lambda: pub.send(b"x"),
        "send_many": lambda: pub.send_many([b"x"]),
        "loan": lambda: pub.loan(1).__enter__(),
        "recv": lambda: sub.recv(0),
        "topics": remote.topics,
        "publisher": lambda: remote.publisher("t"),
    }
    for name, use in uses.items():
        try:
            use()
        except slipring.ForkedHandle:
            continue
        os._exit(1)
    pub.close(), sub.close(), held.close(), remote.close()
    os._exit(7)
over.set()
say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
say(sub.recv(60).seq)
"""


def test_a_forked_child_is_refused_though_threads_of_its_parent_were_inside(serve, processes):
    parent = processes.start(FORKED, address=serve().address, watchdog_s=int(WATCHDOG_S / 2))
    parent.expect(7)
    parent.expect(0)
    parent.kill()


def test_a_remote_bus_is_pickled_as_its_address(serve, processes, remote):
    copy = pickle.loads(pickle.dumps(remote))
    assert isinstance(copy, RemoteBus) and copy.path == remote.path and copy is not remote
    assert copy.publisher("t").send(b"0") == 0
    copy.close()
    child = processes.start(
        "import pickle\nwith pickle.loads(data) as remote: say(remote.publisher('t').send(b'1'))",
        data=pickle.dumps(remote),
    )
    child.expect(1)
    child.join()
    remote.close()
    with pytest.raises(slipring.Closed):
        pickle.dumps(remote)


def test_a_remote_bus_can_be_sent_to_the_processes_of_a_pool(serve, processes, bus):
    bus.create("t")
    child = processes.start(
        """
        import multiprocessing, operator
        with slipring.Bus(address) as remote, multiprocessing.get_context("spawn").Pool(1) as pool:
            say(pool.apply(operator.methodcaller("topics"), (remote,)))
            pool.close()
            pool.join()
        """,
        address=serve().address,
    )
    child.expect(["t"])
    child.join()


def test_remote_handles_are_not_pickled(remote):
    for handle in (remote.publisher("t"), remote.subscriber("t")):
        name = type(handle).__name__
        text = f"a {name} cannot be pickled: pass the Bus to the other process and open it there"
        with pytest.raises(TypeError, match=f"^{re.escape(text)}$"):
            pickle.dumps(handle)


def test_closing_ends_waits_and_leaves_nothing_at_the_server(remote, bus, background):
    sub = remote.subscriber("t")
    bus.create("t", delivery="reliable")
    waiting = background(sub.recv)
    eventually(lambda: bus.stats("t")["readers"], "the remote reader in the table")
    remote.close()
    with pytest.raises(slipring.Closed):
        waiting.result()
    eventually(lambda: not bus.stats("t")["readers"], "the reader's leaving")


def test_cells_frames_and_calls_are_refused_by_name_and_nothing_is_created(
    remote, bus, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for ask in (remote.cells, remote.frames, remote.server, remote.client):
        with pytest.raises(slipring.BadArgument, match="work on one host only") as refused:
            ask("x")
        assert refused.value.argument == "bus"
    assert list(tmp_path.iterdir()) == [] and bus.contents() == {}


def test_a_server_that_runs_returns_on_ctrl_c(serve, connect):
    served = serve()
    connect(served.address)  # it has been answered, so it runs
    served.process.signal(signal.SIGINT)
    served.process.join(0)
    assert "Traceback" not in served.process.stderr
