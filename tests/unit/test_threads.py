# SPDX-License-Identifier: Apache-2.0
"""Promise 15: threads that really run at once."""

import threading

import pytest

import slipring


def test_closing_a_handle_under_its_users_is_safe(bus, background):
    """Acceptable for every call in flight: it worked, or Closed."""
    bus.create("t", capacity=4096, slots=16)
    for _ in range(30):
        pub, sub = bus.publisher("t"), bus.subscriber("t")
        started = threading.Barrier(3)

        def publish(pub=pub, started=started) -> None:
            started.wait()
            while True:
                pub.send(b"x" * 100)

        def receive(sub=sub, started=started) -> None:
            started.wait()
            while True:
                assert sub.recv().body == b"x" * 100

        calls = [background(publish), background(receive)]
        started.wait()
        for _ in range(20):
            assert sub.recv().body == b"x" * 100
        pub.close()
        sub.close()
        for call in calls:
            with pytest.raises(slipring.Closed):
                call.result()
