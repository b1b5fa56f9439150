# SPDX-License-Identifier: Apache-2.0
"""C, Java and Python publish to one topic at full speed. All readers get the same order and exact accounts."""

import pytest

ALL = ["c", "java+futex", "python"]


def heard_all(subscribers) -> list[tuple]:
    heard = [subscriber.hear() for subscriber in subscribers]
    for subscriber in subscribers:
        subscriber.join()
    return heard


def send_together(bus, writers, count: int) -> None:
    """Let the writers send at the same time. Send the last message after theirs."""
    for writer in writers:
        writer.expect("ready")
    for writer in writers:
        writer.say("go")
    for writer in writers:
        writer.hear_sent(count)
        writer.join()
    with bus.publisher("t") as pub:
        pub.send(b"", type="end", timeout=60)


@pytest.mark.parametrize("languages", [ALL, ["c", "java", "python"]], ids=["futex", "pure"])
def test_all_languages_publish_at_once_and_every_reliable_reader_sees_the_same(bus, peers, languages):
    """The writers fill a small ring hundreds of times."""
    count = 5000 if languages == ALL else 1500
    bus.create("t", capacity=4096, slots=32, delivery="reliable")
    readers = [peers.subscribe(language, "reliable") for language in languages]
    taps = [peers.subscribe(language, "lossy") for language in languages]
    for reader in readers + taps:
        reader.expect(("ready", 0))
    writers = [peers.publish(language, language, count) for language in languages]
    send_together(bus, writers, count)
    total = len(languages) * count + 1
    accounts = heard_all(readers)
    assert accounts == [("end", total, 0, total, accounts[0][4])] * len(languages)
    for _, received, lost, position, _ in heard_all(taps):
        assert (received + lost, position) == (total, total)
    assert bus.stats("t")["published"] == total
    assert total / 32 > (400 if languages == ALL else 100)


@pytest.mark.parametrize("language", ["c", "java"])
def test_several_foreign_publishers_share_a_lossy_topic_with_exact_losses(bus, peers, language):
    count = 20000
    bus.create("t", capacity=4096, slots=16)
    readers = [peers.subscribe(each, "lossy") for each in ("c", "java", "python")]
    for reader in readers:
        reader.expect(("ready", 0))
    writers = [peers.publish(language, str(k), count, 60) for k in range(2)]
    send_together(bus, writers, count)
    for _, received, lost, position, _ in heard_all(readers):
        assert (received + lost, position) == (2 * count + 1, 2 * count + 1)
