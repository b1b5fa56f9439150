# SPDX-License-Identifier: Apache-2.0
"""Answers in parts: in order, bounded on both sides, ended by either."""

import pytest

import slipring

pytestmark = pytest.mark.needs("calls")


def test_parts_arrive_in_order(client):
    assert list(client.stream("count", 1000)) == list(range(1000))
    assert list(client.stream("count", 0)) == []


def test_a_plain_method_is_a_stream_of_one(client):
    assert list(client.stream("add", 1, 2)) == [3]


def test_a_method_that_streams_cannot_be_called_for_one_answer(client):
    with pytest.raises(slipring.BadArguments, match="stream"):
        client.call("count", 1)


def test_async_generators_stream_too(client):
    assert list(client.stream("acount", 300)) == list(range(300))


def test_parts_larger_than_a_message_arrive_whole(bus, server):
    with bus.client("calc", capacity="64KiB", timeout=60) as client:
        parts = list(client.stream("count", 20, 300_000))
        assert [len(part) for part in parts] == [300_000] * 20


def test_tasks_iterate_streams(client, run):
    async def main():
        plain = [part async for part in client.astream("count", 200)]
        other = [part async for part in client.astream("acount", 200)]
        return plain == other == list(range(200))

    assert run(main())


def test_an_error_ends_a_stream_after_the_parts_before_it(bus, server, client):
    @server.method
    def breaks():
        yield 1
        yield 2
        raise KeyError("x")

    stream = client.stream("breaks")
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(slipring.RemoteError) as caught:
        next(stream)
    assert caught.value.type == "KeyError"
    assert list(stream) == []


def test_a_slow_reader_stops_only_its_own_method(bus, server, client, eventually):
    made = []

    @server.method
    def numbers():
        for number in range(10_000):
            made.append(number)
            yield number

    stream = client.stream("numbers")
    assert next(stream) == 0
    for number in range(200):
        assert client.call("echo", number) == number
    eventually(lambda: server.stats()["running"] == 0, "the stream resting")
    assert len(made) <= 2 * 16 + 2
    assert list(stream) == list(range(1, 10_000))


def test_streams_of_one_client_that_are_not_read_do_not_hold_up_its_calls(bus, server, client):
    streams = [client.stream("count", 1000, 1000) for _ in range(20)]
    for number in range(50):
        assert client.call("echo", number) == number
    assert [len(list(stream)) for stream in streams] == [1000] * 20


def test_too_many_streams_are_refused_with_full(bus, server, client, eventually):
    streams = [client.stream("count", 1000) for _ in range(64)]
    with pytest.raises(slipring.Full, match="64 streams"):
        next(client.stream("count", 1))
    for stream in streams:
        stream.close()
    assert eventually(lambda: server.stats()["open"] == 0, "the streams ending")
    assert list(client.stream("count", 3)) == [0, 1, 2]


@pytest.mark.parametrize("how", ["close", "del", "with", "break"])
def test_a_stream_that_is_left_ends_the_generator(bus, server, client, how, eventually, event):

    @server.method
    def endless():
        try:
            while True:
                yield 1
        finally:
            event.set()

    stream = client.stream("endless")
    next(stream)
    if how == "close":
        stream.close()
    elif how == "with":
        with stream:
            next(stream)
    elif how == "break":
        for _ in stream:
            break
        del stream
    else:
        del stream
    assert event.wait(60)
    eventually(lambda: server.stats()["open"] == 0, "the call ending")


def test_a_stream_ends_with_its_server(bus):
    server = bus.server("calc")

    @server.method
    def endless():
        while True:
            yield 1

    server.start()
    with bus.client("calc", timeout=60) as client:
        stream = client.stream("endless")
        next(stream)
        server.close()
        with pytest.raises(slipring.PeerGone):
            for _ in stream:
                pass


def test_a_stream_that_pauses_too_long_times_out(bus, server, client, event):

    @server.method
    def pauses():
        yield 1
        event.wait(60)
        yield 2

    stream = client.within(0.05).stream("pauses")
    assert next(stream) == 1
    with pytest.raises(slipring.Timeout):
        next(stream)
    event.set()
    assert client.call("add", 1) == 1


def test_a_part_over_the_limit_ends_the_stream_with_too_large(bus, server):
    with bus.client("calc", max_answer=1000, timeout=60) as client:
        with pytest.raises(slipring.TooLarge):
            list(client.stream("count", 3, 5000))
        assert client.call("add", 1) == 1


def test_a_hundred_megabytes_pass_through_a_ring_of_one(bus, server, client):
    total = sum(len(part) for part in client.stream("count", 1000, 100_000))
    assert total == 100_000_000
