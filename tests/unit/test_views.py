# SPDX-License-Identifier: Apache-2.0
"""Promise 8, reading: views and the memory they show, in processes of their own."""

import pytest

KEPT = """
    pub = bus.publisher("t", capacity=4096, slots=16)
    sub = bus.subscriber("t")
    pub.send(b"original" * 100)
    outcome = "kept"
    try:
        with sub.view(timeout=0) as message:
            kept = eval(keep)(message.body)
    except BufferError:
        outcome = "release refused"
    for action in actions:
        try:
            {"lap": lambda: [pub.send(b"scribble" * 100, timeout=0) for _ in range(100)],
             "close": sub.close, "close bus": bus.close}[action]()
        except (slipring.Full, BufferError):
            pass
    try:
        body = bytes(kept)
    except ValueError:
        body = None
    say(outcome, body)
"""


@pytest.mark.parametrize("keep", ["memoryview", "lambda body: body[:]", "lambda body: body.cast('d')"])
@pytest.mark.parametrize(
    "actions", [["lap"], ["lap", "close"], ["close", "lap"], ["lap", "close bus"]], ids=str
)
def test_what_was_made_from_a_view_shows_the_held_bytes_or_nothing(processes, keep, actions):
    """Acceptable: leaving the block is refused, the copy of the view is dead, or the bytes stay held."""
    child = processes.start(KEPT, keep=keep, actions=actions)
    _, body = child.hear()
    assert body in (None, b"original" * 100)
    child.join()


def test_closing_a_subscriber_inside_its_view_leaves_no_dangling_memory(processes):
    child = processes.start("""
        pub = bus.publisher("t", capacity=4096, slots=16)
        for how in ("sub", "bus"):
            sub = bus.subscriber("t")
            pub.send(b"original")
            view = sub.view(timeout=0)
            message = view.__enter__()
            try:
                (sub if how == "sub" else bus).close()
            except BufferError:
                pass
            try:
                say(bytes(message.body))
            except ValueError:
                say(None)
            try:
                view.__exit__(None, None, None)
            except (slipring.Closed, ValueError):
                pass
    """)
    assert child.hear() in (None, b"original")
    assert child.hear() in (None, b"original")
    child.join()
