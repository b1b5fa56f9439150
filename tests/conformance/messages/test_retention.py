# SPDX-License-Identifier: Apache-2.0
"""How much a topic keeps: a reader within half a ring of the publisher loses nothing, whatever the sizes."""

import pytest

pytestmark = pytest.mark.needs("ring")

GEOMETRIES = [
    # capacity, slots, size of a message
    (4096, 16, 8),
    (4096, 16, 512),
    (4096, 256, 216),
    (4096, 256, 1024),
    (1 << 20, None, 64),
    (1 << 20, None, 1 << 10),
    (1 << 20, None, 1 << 14),
    (1 << 20, None, 1 << 18),
    (1 << 20, 65536, 1 << 14),
]


@pytest.fixture(params=GEOMETRIES, ids=lambda geometry: "-".join(map(str, geometry)))
def ring(request, bus):
    """A publisher, the body it sends, and how many such messages fit into the ring."""
    capacity, slots, size = request.param
    pub = bus.publisher("t", capacity=capacity, slots=slots)
    return pub, bytes(size), min(capacity // size, bus.stats("t")["slots"] - 1)


def test_a_reader_within_half_a_ring_loses_nothing(bus, backend, ring):
    pub, body, fit = ring
    sub = bus.subscriber("t")
    behind = max(1, fit // 2)
    pub.send_many([body] * behind)
    for _ in range(4 * max(fit // backend.step, min(fit, 16))):
        assert sub.recv(timeout=0) is not None
        pub.send(body)
    assert sub.lost == 0


def test_a_late_joiner_finds_at_least_half_a_ring(bus, backend, ring):
    pub, body, fit = ring
    pub.send_many([body] * fit)
    for number in range(2 * max(fit // backend.step, min(fit, 16))):
        pub.send(body)
        if number < 100 or number % 50 == 0:
            stats = bus.stats("t")
            assert fit // 2 <= stats["retained"] <= fit
            assert bus.subscriber("t", start="oldest").recv(timeout=0).seq == stats["oldest"]
