# SPDX-License-Identifier: Apache-2.0
"""A closed remote subscription has released its cursor, although the server was waiting for messages."""


def test_a_cursor_is_free_as_soon_as_its_subscriber_is_closed(serve, connect, bus):
    with bus.publisher("r", delivery="reliable") as publisher:
        publisher.send_many([b"x"] * 3)
        remote = connect(serve().address)
        for _ in range(100):
            with remote.subscriber("r", cursor="c", start="oldest") as subscriber:
                received = 0
                while received < 3:
                    received += len(subscriber.recv_many(3, timeout=5))
                assert subscriber.recv(timeout=0) is None  # nothing more: the server's watch takes it over
