# SPDX-License-Identifier: Apache-2.0
"""hz and top: rates from the messages, and from the counters."""

import json
import os
import pty
import re
import signal

import pytest

from support.waiting import WATCHDOG_S, eventually, wait_until_asleep


def test_hz_measures_the_asked_number_of_messages(cli, bus, reads):
    bus.create("t")
    meter = cli.start("hz", "t", "--count", "40", "--format", "json", "--window", "0.05")
    reads(meter, "t")
    cli.run("pub", "t", "12345678", "--count", "41", "--rate", "200")
    *windows, total = (json.loads(line) for line in cli.finish(meter).stdout.splitlines())
    assert {window["part"] for window in windows} == {"window"} and total["part"] == "total"
    assert total["messages"] == sum(window["messages"] for window in windows) == 40
    assert total["lost"] == 0 and 0 < total["rate_hz"] < 250
    assert total["bytes_per_s"] == total["rate_hz"] * 8
    gaps = [total[f"gap_{name}_s"] for name in ("min", "median", "p99", "max")]
    assert gaps == sorted(gaps) and gaps[0] >= 0 and gaps[1] > 0.0025


def test_hz_counts_what_it_lost_in_the_rate(cli, bus, reads):
    publisher = bus.publisher("t", slots=16)
    meter = cli.start("hz", "t", "--format", "json", "--window", "3600")
    reads(meter, "t")
    publisher.send(b"first")
    eventually(lambda: bus.stats("t")["readers"][0]["received"] == 1, "hz reading the first message")
    meter.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, meter.pid, os.WSTOPPED | os.WNOWAIT)
    publisher.send_many([b"x"] * 500)
    meter.send_signal(signal.SIGCONT)
    eventually(lambda: bus.stats("t")["readers"][0]["lag"] == 0, "hz catching up")
    wait_until_asleep(meter.pid)  # what it took is counted before it waits again
    meter.send_signal(signal.SIGINT)
    (total,) = (json.loads(line) for line in cli.finish(meter).stdout.splitlines())
    assert total["messages"] + total["lost"] == 500 and total["lost"] > 0


def test_hz_of_a_silent_or_missing_topic_ends_in_time_with_nothing(cli, bus):
    bus.create("silent")
    for topic in ("silent", "missing"):
        (total,) = cli.records("hz", topic, "--for", "0.05", "--format", "json")
        assert (total["messages"], total["rate_hz"], total["gap_median_s"]) == (0, 0, None)
    assert bus.topics() == ["silent"]


def test_hz_without_traffic_reports_it_and_names_possible_senders(cli, bus):
    publisher = bus.publisher("silent")
    for topic, senders in (("silent", "1 publisher"), ("missing", "no such topic yet")):
        outcome = cli.run("hz", topic, "--for", "0.3", "--window", "0.05")
        assert outcome.stdout.startswith(b"total: no messages in ")
        *_, line = outcome.stderr.splitlines()
        assert line.startswith(f"slipring: no messages on topic '{topic}' for ") and senders in line
    publisher.close()


def test_hz_reports_also_when_the_traffic_ends(cli, bus, reads):
    publisher = bus.publisher("t")
    meter = cli.start("hz", "t", "--window", "0.05")
    reads(meter, "t")
    publisher.send(b"the only one")
    while not (line := meter.stdout.readline()).startswith(b"window: no messages in "):
        assert line.startswith(b"window: ")


def test_hz_does_not_delay_a_reliable_publisher(cli, bus, reads):
    publisher = bus.publisher("t", slots=16, delivery="reliable")
    meter = cli.start("hz", "t")
    reads(meter, "t")
    meter.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, meter.pid, os.WSTOPPED | os.WNOWAIT)
    for _ in range(100):
        publisher.send(b"x", timeout=0)


def test_hz_speaks_in_words_for_people(cli, bus, reads):
    bus.create("t")
    meter = cli.start("hz", "t", "--count", "4", "--window", "3600")
    reads(meter, "t")
    cli.run("pub", "t", "x", "--count", "5", "--rate", "1000")
    window, total = cli.finish(meter).stdout.decode().splitlines()
    assert window.startswith("window: ") and total.startswith("total: ")
    for word in ("msg/s", "B/s", "min", "median", "p99", "max", "(4 in "):
        assert word in total


def test_top_once_in_json_shows_rates_readers_lag_and_loss_of_all_topics(cli, bus):
    publisher = bus.publisher("busy", slots=16)
    behind = bus.subscriber("busy")
    bus.create("quiet")
    publisher.send_many([b"x"] * 40)
    behind.recv(timeout=0)
    (sample,) = cli.records("top", "--once", "--interval", "0.01", "--format", "json")
    assert sample["interval_s"] >= 0.01 and sample["problems"] == {}
    busy, quiet = sample["topics"]
    stats = bus.stats("busy")["readers"][0]
    assert (busy["topic"], busy["publishers"], busy["readers"]) == ("busy", 1, 1)
    assert (busy["worst_lag"], busy["lost"]) == (stats["lag"], stats["lost"]) and busy["lost"] > 0
    assert (busy["messages_per_s"], busy["lost_per_s"]) == (0, 0)
    assert (quiet["topic"], quiet["readers"], quiet["worst_lag"]) == ("quiet", 0, 0)


def test_top_computes_rates_from_the_counters_at_two_moments(cli, bus):
    publisher = bus.publisher("t")
    top = cli.start("top", "--interval", "0.05", "--format", "json")
    counted = bytes_counted = 0.0
    publisher.send_many([b"12345678"] * 100)
    json.loads(top.stdout.readline())
    publisher.send_many([b"12345678"] * 50)
    while counted < 50:
        sample = json.loads(top.stdout.readline())
        (topic,) = sample["topics"]
        counted += round(topic["messages_per_s"] * sample["interval_s"])
        bytes_counted += topic["bytes_per_s"] * sample["interval_s"]
    assert counted in (50, 150)
    assert round(bytes_counted) == counted * 8


def test_top_shows_a_topic_it_cannot_read_and_goes_on(cli, bus):
    bus.create("bad")
    bus.create("good")
    with open(os.path.join(bus.path, "bad.ring"), "r+b") as ring:
        ring.write(b"\xa5" * 4096)
    (sample,) = cli.records("top", "--once", "--interval", "0.01", "--format", "json")
    assert [topic["topic"] for topic in sample["topics"]] == ["good"] and list(sample["problems"]) == ["bad"]
    assert b"bad" in cli.run("top", "--once", "--interval", "0.01").stdout


def test_top_lives_on_the_other_screen_of_a_terminal_and_gives_it_back(cli, bus):
    bus.create("imu")
    terminal, inner = pty.openpty()
    try:
        top = cli.start("top", "--interval", "0.01", stdin=inner, stdout=inner, env={"TERM": "xterm"})
        os.close(inner)
        seen = b""
        while seen.count(b"imu") < 2:
            seen += os.read(terminal, 65536)
        assert b"\x1b[?1049h" in seen
        top.send_signal(signal.SIGINT)
        while b"\x1b[?1049l" not in seen:
            seen += os.read(terminal, 65536)
        assert top.wait(WATCHDOG_S) == -signal.SIGINT
        assert top.stderr.read() == b""
    finally:
        os.close(terminal)


@pytest.fixture
def crowded(bus):
    """Fifty topics, of which top cannot show all."""
    for number in range(50):
        bus.create(f"cam.{number:02}" if number % 2 else f"imu.{number:02}", capacity=4096)


def names(screen: bytes) -> list[str]:
    return re.findall(r"(?:cam|imu)\.[0-9][0-9]", screen.decode())


def test_top_scrolls_and_shows_what_is_hidden(terminal, crowded):
    top = terminal.start("top", "--interval", "0.01", "--sort", "name", rows=13)
    terminal.until(b"1-10 of 50  0 above, 40 below")
    seen = terminal.press(b"\x1b[B")
    terminal.until(b"2-11 of 50  1 above, 39 below", seen)
    seen = terminal.press(b"\x1b[6~")
    terminal.until(b"12-21 of 50", seen)
    seen = terminal.press(b"G")
    terminal.until(b"41-50 of 50  40 above, 0 below", seen)
    terminal.until(b"imu.48", seen)
    seen = terminal.press(b"g")
    terminal.until(b"1-10 of 50", seen)
    terminal.press(b"q")
    assert terminal.ended(top) == 0


def test_top_filters_what_is_typed_and_counts_what_the_filter_hides(terminal, crowded):
    top = terminal.start("top", "--interval", "0.01", "--sort", "name", rows=40)
    terminal.until(b"1-37 of 50")
    seen = terminal.press(b"/IMU.1")
    terminal.until(b"filter: IMU.1_", seen)
    seen = terminal.press(b"\r")
    terminal.until(b"1-5 of 5  filter 'IMU.1' hides 45", seen)
    seen = terminal.press(b"/*.07\n")
    terminal.until(b"1-1 of 1  filter '*.07' hides 49", seen)
    assert names(terminal.shown.rpartition(b"\x1b[H")[2]) == ["cam.07"]
    seen = terminal.press(b"\x1b")
    terminal.until(b"1-37 of 50", seen)
    terminal.press(b"q")
    assert terminal.ended(top) == 0


def test_top_sorts_by_the_next_column_at_a_key(terminal, bus):
    bus.publisher("few").send(b"x" * 100)
    bus.publisher("many").send_many([b"y"] * 30)
    behind = bus.subscriber("few", start="oldest")
    top = terminal.start("top", "--interval", "0.01", "--sort", "bytes")
    terminal.until(b"by bytes")
    for order in (b"lag", b"lost", b"name", b"rate"):
        seen = terminal.press(b"s")
        terminal.until(b"by " + order, seen)
    assert behind.lag == 1
    terminal.press(b"q")
    assert terminal.ended(top) == 0


def test_top_gives_the_terminal_back_as_it_was_however_it_ends(terminal, bus):
    bus.create("imu")
    for end in (lambda top: terminal.press(b"q"), lambda top: top.send_signal(signal.SIGTERM)):
        assert terminal.is_cooked()
        seen = len(terminal.shown)
        top = terminal.start("top", "--interval", "0.01")
        terminal.until(b"imu", seen)
        assert not terminal.is_cooked()
        end(top)
        terminal.until(b"\x1b[?1049l", seen)
        assert terminal.ended(top) in (0, -signal.SIGTERM)
        assert terminal.is_cooked()


def test_a_narrow_terminal_shows_that_top_is_cut(terminal, bus):
    bus.create("imu")
    terminal.start("top", "--interval", "0.01", columns=30)
    terminal.until(b"(cut at the right edge")


def test_top_filters_without_a_terminal_too(cli, crowded):
    (sample,) = cli.records("top", "--once", "--interval", "0.01", "--filter", "cam.*", "--format", "json")
    assert len(sample["topics"]) == 25
    shown = cli.run("top", "--once", "--interval", "0.01", "--filter", "cam.").stdout
    assert b"25 topics hidden by --filter 'cam.'" in shown
