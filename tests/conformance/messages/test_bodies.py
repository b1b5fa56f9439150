# SPDX-License-Identifier: Apache-2.0
"""Promise 2: any buffer object is a body; text is refused with a hint; the bus never decodes a body."""

import array
import ctypes
import mmap

import pytest

RAW = bytes(range(48))


def mapped(data: bytes) -> mmap.mmap:
    area = mmap.mmap(-1, len(data))
    area[:] = data
    return area


BUFFERS = {
    "bytes": RAW,
    "bytes subclass": type("Packet", (bytes,), {})(RAW),
    "bytearray": bytearray(RAW),
    "memoryview": memoryview(RAW),
    "memoryview of doubles": memoryview(RAW).cast("d"),
    "memoryview of two dimensions": memoryview(RAW).cast("B", (6, 8)),
    "array": array.array("d", memoryview(RAW).cast("d")),
    "ctypes": (ctypes.c_ubyte * 48)(*RAW),
    "every second byte of a view": memoryview(bytes(b for byte in RAW for b in (byte, 255)))[::2],
    "a view backwards": memoryview(RAW[::-1])[::-1],
}


@pytest.fixture
def pair(bus):
    return bus.publisher("t", capacity="64KiB"), bus.subscriber("t")


@pytest.mark.parametrize("buffer", BUFFERS.values(), ids=BUFFERS)
def test_any_buffer_object_is_accepted_as_a_body(pair, buffer):
    pub, sub = pair
    pub.send(buffer)
    pub.send_many([buffer, buffer])
    messages = sub.recv_many(9)
    assert [m.body for m in messages] == [RAW] * 3
    assert {type(m.body) for m in messages} == {bytes}


def test_a_mapped_file_is_accepted_as_a_body(pair):
    pub, sub = pair
    with mapped(RAW) as area:
        pub.send(area)
    assert sub.recv(timeout=0).body == RAW


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_numpy_array_is_sent_as_its_elements_in_c_order(pair, order):
    numpy = pytest.importorskip("numpy")
    pub, sub = pair
    values = numpy.arange(24, dtype="f4").reshape(2, 3, 4)
    pub.send(numpy.array(values, order=order))
    pub.send(values[:, 1:, ::2])
    pub.send(numpy.float64(1.5))
    assert sub.recv(timeout=0).body == values.tobytes()
    assert sub.recv(timeout=0).body == values[:, 1:, ::2].tobytes()
    assert sub.recv(timeout=0).body == numpy.float64(1.5).tobytes()


@pytest.mark.parametrize("empty", [b"", bytearray(), memoryview(b""), array.array("d")], ids=type)
def test_an_empty_body_is_a_message(pair, empty):
    pub, sub = pair
    pub.send(empty)
    assert sub.recv(timeout=0).body == b""


def test_text_is_refused_as_a_body_with_a_hint(pair):
    pub, sub = pair
    for send in (pub.send, lambda body: pub.send_many([body])):
        with pytest.raises(TypeError, match="encode"):
            send("text")
    assert sub.recv(timeout=0) is None


def test_a_single_body_is_refused_where_a_list_of_bodies_belongs(pair):
    pub, sub = pair
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError):
            pub.send_many(wrong)
    assert sub.recv(timeout=0) is None


@pytest.mark.parametrize(
    "wrong", [5, None, 1.5, [1, 2], {"a": 1}, object()], ids=lambda value: type(value).__name__
)
def test_an_object_without_a_buffer_is_refused_and_nothing_is_sent(pair, wrong):
    pub, sub = pair
    with pytest.raises(TypeError, match="body"):
        pub.send(wrong)
    with pytest.raises(TypeError):
        pub.send_many([wrong])
    assert pub.send(b"next") == 0
    assert sub.recv(timeout=0).body == b"next"


def test_a_list_with_one_invalid_body_is_refused_as_a_whole(pair):
    pub, sub = pair
    with pytest.raises(TypeError):
        pub.send_many([b"fine", "text"])
    assert sub.recv(timeout=0) is None
    assert pub.send(b"next") == 0


def test_a_body_is_copied_when_it_is_sent(pair):
    pub, sub = pair
    body = bytearray(b"before")
    pub.send(body)
    body[:] = b"after!"
    body.append(1)  # the buffer is not exported any longer
    assert sub.recv(timeout=0).body == b"before"


def test_a_body_that_is_not_text_arrives_unchanged(pair):
    pub, sub = pair
    for body in (b"\xff\xfe\x00", b"\x00", b"\x80" * 100, "häß".encode("latin-1")):
        pub.send(body)
        assert sub.recv(timeout=0).body == body


@pytest.mark.parametrize("name", ["", "imu.v1", "größe/ß🙂", "with\0nul", "é" * 127, "x" * 255])
def test_sender_and_type_arrive_as_they_were_given(bus, name):
    sub = bus.subscriber("t")
    bus.publisher("t", sender=name, capacity="64KiB").send(b"x", type=name)
    message = sub.recv(timeout=0)
    assert (message.sender, message.type) == (name, name)
    assert type(message.sender) is type(message.type) is str


def test_each_buffer_is_released_after_sending(pair):
    pub, _ = pair
    body = bytearray(8)
    pub.send_many([body, body])
    with pytest.raises(TypeError):
        pub.send_many([body, "text"])
    body.extend(b"still resizable")


class Linked(ctypes.Structure):
    _fields_ = (("number", ctypes.c_int), ("next", ctypes.c_void_p))


class Plain(ctypes.Structure):
    _fields_ = (("O", ctypes.c_int), ("P", ctypes.c_double))


def arrays_with_addresses() -> dict[str, object]:
    numpy = pytest.importorskip("numpy")
    objects = numpy.array([{"a": 1}, "b", None], dtype=object)
    return {
        "objects": objects,
        "every second object": objects[::2],
        "a view of objects": memoryview(objects),
        "a field of objects": numpy.zeros(2, dtype=[("x", "f8"), ("any", "O")]),
        "objects beside times": numpy.zeros(2, dtype=[("when", "M8[s]"), ("any", "O")]),
        "pointers": (ctypes.POINTER(ctypes.c_int) * 3)(),
        "addresses": (ctypes.c_void_p * 3)(),
        "texts": (ctypes.c_char_p * 3)(),
        "wide texts": (ctypes.c_wchar_p * 3)(),
        "Python objects": (ctypes.py_object * 2)(1, 2),
        "functions": (ctypes.CFUNCTYPE(None) * 2)(),
        "a structure with a pointer": Linked(),
    }


ADDRESSES = [
    "objects", "every second object", "a view of objects", "a field of objects", "objects beside times", "pointers",
    "addresses", "texts", "wide texts", "Python objects", "functions", "a structure with a pointer",
]  # fmt: skip


@pytest.mark.parametrize("what", ADDRESSES)
def test_a_buffer_of_objects_or_pointers_is_refused_and_nothing_is_sent(pair, what):
    pub, sub = pair
    body = arrays_with_addresses()[what]
    uses = (
        lambda: pub.send(body),
        lambda: pub.send(body, timeout=1),
        lambda: pub.send_many([b"plain", body]),
    )
    for use in uses:
        with pytest.raises(TypeError, match="objects or pointers"):
            use()
    assert sub.recv(timeout=0) is None


@pytest.mark.needs("members")
def test_a_member_refuses_a_buffer_of_objects(bus):
    numpy = pytest.importorskip("numpy")
    with pytest.raises(TypeError, match="objects or pointers"):
        bus.join("chat", sender="ann").send(numpy.array([None]))


def test_a_buffer_of_plain_data_is_accepted_whatever_its_names(pair):
    numpy = pytest.importorskip("numpy")
    pub, sub = pair
    bodies = [
        numpy.zeros(2, dtype=[("O", "f8"), ("P&z", "c16")]),
        numpy.array([1 + 2j], dtype="c8"),
        numpy.array(["2026-01-01"], dtype="M8[s]"),
        numpy.array(["text"]),
        numpy.zeros(3, dtype="V5"),
        (Plain * 2)(),
    ]
    for body in bodies:
        pub.send(body)
    assert [m.body for m in sub.recv_many(9)] == [
        body.tobytes() if hasattr(body, "tobytes") else bytes(body) for body in bodies
    ]


def test_recv_into_does_not_write_over_objects(pair):
    numpy = pytest.importorskip("numpy")
    pub, sub = pair
    pub.send(bytes(8))
    with pytest.raises(TypeError, match="objects or pointers"):
        sub.recv_into(numpy.array([None, None]), timeout=0)
    assert sub.recv(timeout=0).body == bytes(8)
