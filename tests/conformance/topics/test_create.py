# SPDX-License-Identifier: Apache-2.0
"""Creating topics: sizes, names and modes; whatever is wrong is refused by name and makes nothing."""

import pytest

import slipring

pytestmark = pytest.mark.needs("ring")


SIZES = [
    (4096, 4096),
    (1, 4096),
    (4097, 8192),
    ("4096", 4096),
    ("4KiB", 4096),
    ("64KiB", 65536),
    ("64KB", 65536),
]
SIZES += [("1MiB", 1 << 20), ("1MB", 1 << 20), ("100KiB", 131072), ("5MiB", 8 << 20), ("1 MiB", 1 << 20)]


@pytest.mark.parametrize(("capacity", "expected"), SIZES, ids=[repr(size) for size, _ in SIZES])
def test_a_capacity_is_rounded_up_to_a_power_of_two(bus, capacity, expected):
    bus.create("t", capacity=capacity)
    assert bus.stats("t")["capacity"] == expected


@pytest.mark.parametrize(("slots", "expected"), [(1, 16), (16, 16), (17, 32), (1000, 1024)])
def test_slots_are_rounded_up_to_a_power_of_two(bus, slots, expected):
    bus.create("t", capacity=4096, slots=slots)
    assert bus.stats("t")["slots"] == expected


def test_the_default_capacity_is_16_mib(bus):
    bus.create("t")
    assert bus.stats("t")["capacity"] == 16 << 20
    assert bus.stats("t")["delivery"] == "lossy"
    assert bus.stats("t")["writers"] == "many"


BAD = [
    ("capacity", value) for value in (0, -1, "", "abc", "-4KiB", "12XB", "KiB", "1e3", 1 << 70, "99999999GiB")
]
BAD += [("slots", value) for value in (-1, 1 << 70)] + [("delivery", value) for value in ("", "sometimes")]
BAD += [("writers", value) for value in ("", "two")] + [("mode", value) for value in (-1, 0o10000)]
BAD += [(name, value) for name in ("max_readers", "max_writers", "max_cursors") for value in (-1, 1 << 40)]


@pytest.mark.parametrize(("name", "value"), BAD, ids=[f"{name}={value!r}" for name, value in BAD])
@pytest.mark.parametrize("how", ["create", "publisher"])
def test_a_wrong_setting_is_refused_by_name_and_makes_nothing(bus, how, name, value):
    with pytest.raises(slipring.BadArgument, match=name) as caught:
        getattr(bus, how)("t", **{name: value})
    assert isinstance(caught.value, ValueError)
    assert bus.topics() == []


WRONG = [("capacity", 4096.0), ("capacity", b"4KiB"), ("capacity", [1]), ("slots", "16"), ("slots", 1.5)]
WRONG += [("delivery", 1), ("writers", 1), ("mode", "rw"), ("max_readers", "8"), ("max_writers", 1.5)]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}={value!r}" for name, value in WRONG])
def test_a_setting_of_a_wrong_type_is_refused_by_name_and_makes_nothing(bus, name, value):
    with pytest.raises((TypeError, slipring.BadArgument), match=name):
        bus.create("t", **{name: value})
    assert bus.topics() == []


def test_an_unknown_setting_is_refused_by_name(bus):
    with pytest.raises(TypeError, match="capactiy"):
        bus.publisher("t", capactiy=4096)
    assert bus.topics() == []


BAD_NAMES = ["", ".", "..", ".hidden", "-dash", "a/b", "../up", "a b", "a\0b", "a\n", "é", "a:b", "x" * 101]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_topic_name_is_refused_and_makes_nothing(bus, name):
    calls = [bus.create, bus.publisher, bus.subscriber, bus.stats, bus.remove, bus.cursors]
    calls += [lambda topic: bus.join(topic, sender="s"), lambda topic: bus.drop_cursor(topic, "c")]
    for call in calls:
        with pytest.raises(slipring.BadArgument, match="topic"):
            call(name)
    assert bus.topics() == []


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_bus_name_is_refused(backend, name):
    with pytest.raises(slipring.BadArgument, match="name"):
        backend.open(name)


@pytest.mark.parametrize("name", ["a", "_", "0", "A.b-c_9", "x" * 100, "ring", "a.ring", "a.readers"])
def test_every_allowed_name_works(backend, name):
    with backend.open(name) as bus:
        pub, sub = bus.publisher(name, capacity=4096), bus.subscriber(name)
        pub.send(b"x")
        assert sub.recv(timeout=0).topic == name
        assert bus.topics() == [name]


@pytest.mark.parametrize("name", [None, 5, b"t", ["t"]])
def test_a_name_that_is_not_text_is_refused(bus, backend, name):
    with pytest.raises(TypeError, match="topic"):
        bus.create(name)
    with pytest.raises(TypeError, match="name"):
        backend.open(name)


@pytest.mark.parametrize(
    "text", ["x" * 256, "é" * 128, "\ud800"], ids=["256 letters", "256 bytes", "surrogate"]
)
def test_a_sender_or_type_that_does_not_fit_is_refused_by_name(bus, text):
    with pytest.raises(slipring.BadArgument, match="sender"):
        bus.publisher("t", sender=text, capacity=4096)
    pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
    for send in (pub.send, lambda body, type: pub.send_many([body], type=type)):
        with pytest.raises(slipring.BadArgument, match="type"):
            send(b"x", type=text)
    with pytest.raises(slipring.BadArgument, match="type"), pub.loan(1, type=text):
        pass
    assert sub.recv(timeout=0) is None
    for wrong in (5, None, b"x"):
        with pytest.raises(TypeError, match="type"):
            pub.send(b"x", type=wrong)
        with pytest.raises(TypeError, match="sender"):
            bus.publisher("t", sender=wrong)
