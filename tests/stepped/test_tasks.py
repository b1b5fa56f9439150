# SPDX-License-Identifier: Apache-2.0
"""Functions beside the test: one runs at a time, chosen by the seed."""

import threading

import pytest

import slipring
from slipring.testing import SteppedBus, WrongThread

SMALL = {"capacity": 4096, "slots": 16}


def test_a_spawned_function_runs_when_the_bus_is_driven(bus):
    ran = []
    task = bus.spawn(ran.append, 1)
    assert ran == []
    bus.run_until_idle()
    assert ran == [1]
    assert task.done


def test_asking_for_the_result_of_a_function_drives_the_bus(bus):
    pub, sub = bus.publisher("numbers"), bus.subscriber("numbers")
    task = bus.spawn(lambda: [sub.recv().body for _ in range(3)])
    pub.send_many([b"a", b"b", b"c"])
    assert task.result() == [b"a", b"b", b"c"]


def test_an_error_of_a_function_is_raised_by_result(bus):
    def fail() -> None:
        raise KeyError("x")

    task = bus.spawn(fail)
    bus.run_until_idle()
    with pytest.raises(KeyError):
        task.result()


def test_publisher_and_subscriber_of_a_reliable_topic_take_turns(bus):
    pub, sub = bus.publisher("t", delivery="reliable", **SMALL), bus.subscriber("t")
    sending = bus.spawn(lambda: [pub.send(b"%d" % number) for number in range(200)])
    receiving = bus.spawn(lambda: [sub.recv().body for _ in range(200)])
    assert receiving.result() == [b"%d" % number for number in range(200)]
    assert sending.result() == list(range(200))


def order_of_two(seed: int) -> str:
    order = []
    with SteppedBus(seed=seed) as bus:

        def talk(name: str) -> None:
            for _ in range(8):
                order.append(name)
                bus.clock.sleep(0)

        for name in "ab":
            bus.spawn(talk, name)
        bus.run_until_idle()
    return "".join(order)


def test_the_seed_chooses_between_functions_that_can_continue():
    assert [order_of_two(seed) for seed in range(10)] == [order_of_two(seed) for seed in range(10)]
    assert len({order_of_two(seed) for seed in range(10)}) > 5


def test_only_one_function_runs_at_a_time(bus):
    inside = []

    def step() -> None:
        for _ in range(50):
            inside.append(1)
            assert len(inside) == 1
            inside.pop()
            bus.clock.sleep(0.001)

    tasks = [bus.spawn(step) for _ in range(5)]
    for task in tasks:
        task.result()


def test_a_thread_the_bus_does_not_drive_is_refused(bus):
    pub, sub = bus.publisher("t"), bus.subscriber("t")
    errors = []

    def use() -> None:
        for call in (lambda: pub.send(b"x"), lambda: sub.recv(timeout=0), sub.recv):
            try:
                call()
            except slipring.SlipringError as error:
                errors.append(type(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert errors == [WrongThread] * 3
    assert bus.stats("t")["published"] == 0


def test_closing_the_bus_ends_functions_that_wait():
    with SteppedBus() as bus:
        sub = bus.subscriber("t")
        receiving, sleeping = bus.spawn(sub.recv), bus.spawn(bus.clock.sleep, 1e6)
        never = bus.spawn(sub.recv)
        bus.run_until_idle()
    assert receiving.done
    assert sleeping.done
    assert never.done
    with pytest.raises(slipring.Closed):
        receiving.result()
    assert [thread for thread in threading.enumerate() if thread.name.startswith("slipring-")] == []


def test_a_function_that_never_began_leaves_no_thread():
    with SteppedBus() as bus:
        bus.spawn(lambda: None)
    assert [thread for thread in threading.enumerate() if thread.name.startswith("slipring-")] == []
