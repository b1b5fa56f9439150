# SPDX-License-Identifier: Apache-2.0
"""What a notebook shows: plain tables, with everything that came from elsewhere escaped."""

from html.parser import HTMLParser

import pytest

import slipring


class Cells(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data) -> None:
        self.texts.append(data)


EVIL = "<script>alert('&')</script>"


def test_a_bus_is_shown_as_a_table_of_its_topics(bus):
    assert "no topics" in bus._repr_html_()
    pub = bus.publisher("imu", capacity=4096)
    pub.send(b"x")
    shown = Cells(bus._repr_html_())
    assert shown.tags == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert shown.texts[-6:] == ["imu", "lossy", "4096", "1", "1", "0"]
    bus.close()
    assert "imu" not in bus._repr_html_()


def test_statistics_are_shown_with_their_tables(bus):
    pub = bus.publisher("imu", sender=EVIL, capacity=4096)
    shown = Cells(bus.stats("imu")._repr_html_())
    assert shown.tags == {"p", "table", "thead", "tbody", "tr", "th", "td"}
    assert pub.sender in shown.texts
    assert {"capacity", "4096", "publishers", "sender"} <= set(shown.texts)
    assert "received" in bus.subscriber("imu").stats()._repr_html_()


def test_a_message_is_shown_with_its_beginning(bus):
    message = slipring.Message(b"<b>" + bytes(100), sender=EVIL, type="t", seq=7, topic="imu")
    shown = Cells(message._repr_html_())
    assert shown.tags == {"table", "thead", "tbody", "tr", "th", "td"}
    assert shown.texts[-6:-1] == ["imu", "7", "0", EVIL, "t"]
    assert shown.texts[-1].endswith("… 103 bytes")
    assert shown.texts[-1].startswith("b'<b>")


@pytest.mark.foreign_files
def test_a_damaged_topic_does_not_hide_the_others(bus):
    from pathlib import Path

    bus.create("good", capacity=4096)
    bus.create("bad", capacity=4096)
    Path(bus.path, "bad.ring").write_bytes(b"garbage")
    texts = Cells(bus._repr_html_()).texts
    assert "good" in texts
    assert any("bad" in text for text in texts)
    bus.remove("bad")
