# SPDX-License-Identifier: Apache-2.0
"""Promise 8, writing: loans and the memory they lend, in processes of their own."""

import pytest

ARRAY = "__import__('numpy').ndarray((8,), 'u1', view)"  # keeps the memory without a lock on the view


def test_closing_a_publisher_aborts_its_open_loans(processes):
    child = processes.start("""
        sub = bus.subscriber("t", start="oldest")
        pub, other = bus.publisher("t", capacity=4096), bus.publisher("t")
        loan = pub.loan(8)
        view = loan.__enter__()
        other.send(b"behind")
        pub.close()
        try:
            view[:] = b"scribble"
        except ValueError:
            pass
        try:
            loan.__exit__(None, None, None)
        except (slipring.Closed, ValueError):
            pass
        say([m.body for m in sub.recv_many(9, timeout=None)])
        other.send_many([b"x"] * 10000)
    """)
    child.expect([b"behind"])
    child.join()


@pytest.mark.parametrize("keep", ["view[:]", "view[2:6]", "view.cast('d')", "memoryview(view)", ARRAY])
def test_what_was_made_from_a_loan_cannot_change_the_committed_message(processes, keep):
    """Acceptable: leaving the block is refused and nothing is sent, or writing later changes nothing."""
    child = processes.start(
        """
        pub, sub = bus.publisher("t", capacity=4096, slots=16), bus.subscriber("t", start="oldest")
        refused = False
        try:
            with pub.loan(8) as view:
                view[:] = b"original"
                kept = eval(keep)
        except BufferError:
            refused = True
        try:
            kept[0] = 0
        except ValueError:
            pass
        say(refused, [m.body for m in sub.recv_many(9)])
        del kept  # a refused loan is still open until nothing is left of it
        pub.send(b"next")
        say([m.body for m in sub.recv_many(9)])
        """,
        keep=keep,
    )
    refused, bodies = child.hear()
    assert bodies == [b"original"] or (refused and bodies == [])
    child.expect([b"next"])
    child.join()
