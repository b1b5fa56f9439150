# SPDX-License-Identifier: Apache-2.0
"""The tables of a report, compared with figures computed by hand from the same rows."""

import json

import pytest

import slipring
from slipring._bus.calls import envelope
from slipring._bus.calls import protocol as m
from slipring.pipelines.report import Report, write_page
from slipring.pipelines.report.findings import find
from spark.pipelines.lake_rows import BEGAN_NS, frame, hole, message

S, MS = 10**9, 10**6
CLIENT = "00112233aabbccdd"
HOSTILE = "<script>alert(1)</script>\x1b[31m\"'&\u202e"


def by(rows, *names):
    return {tuple(row[name] for name in names): row for row in rows}


def calls(rows):
    """Five calls (answered, raised, given up, unanswered, a stream) and a message that is not a call."""

    def asked(number, at_ns, body):
        rows.append(message("arm.calls", number, at_ns, body, CLIENT))

    def said(number, at_ns, body):
        rows.append(message(f"arm.reply.{CLIENT}", number, at_ns, body))

    def call(method):
        return m.Call(1, 0, 0, 0, method, b"\x92\x90\x80")

    for number, method in enumerate(("plan", "plan", "plan", "where", "scan"), 1):
        asked(number - 1, number * S, envelope.call(number, call(method)))
    asked(5, 10 * S, envelope.cancel(3))
    asked(6, 11 * S, b"no call at all")
    said(0, 1 * S + 5 * MS, envelope.result(1, b"\x01"))
    said(1, 2 * S + 7 * MS, envelope.error(2, m.Error(1, "ValueError", "no")))
    said(2, 5 * S + 1 * MS, envelope.part(5, b"\x01"))
    said(3, 5 * S + 9 * MS, envelope.end(5))
    said(4, 12 * S, envelope.result(99, b"\x01"))  # of a call that was not recorded


def recording():
    rows = [message("imu", i, i * 10 * MS, b"x" * 40, "gyro", "v1", delay_ns=2 * MS) for i in range(100)]
    rows += [hole("imu", 100, 50, 50, at_ns=2 * S)]
    rows += [message("imu", 150 + i, (200 + i) * 10 * MS, b"x" * 40, "gyro", "v1") for i in range(100)]
    rows += [message("odd", i, i * 70 * S, b"y" * 10**i, HOSTILE, HOSTILE) for i in range(4)]
    rows += [hole("odd", 4, 2, 0, at_ns=S), hole("only-holes", 7, 3, 1, at_ns=3 * S)]
    rows += [message("again", 0, 0, generation=1), message("again", 0, S, generation=2)]
    calls(rows)
    return rows


@pytest.fixture(scope="module")
def found(spark):
    return find(Report(spark, frame(spark, recording())), "lake <b>")


def test_topics_have_their_amounts_rates_and_losses(found):
    topics = by(found.topics, "topic")
    imu = topics["imu",]
    assert (imu["messages"], imu["bytes"], imu["lost"], imu["gaps"]) == (200, 8000, 50, 1)
    assert (imu["abandoned"], topics["odd",]["abandoned"], topics["only-holes",]["abandoned"]) == (0, 2, 2)
    assert imu["lost_share"] == pytest.approx(0.2)
    assert imu["rate_hz"] == pytest.approx(199 / 2.99)
    assert imu["bytes_per_s"] == pytest.approx(199 * 40 / 2.99)
    assert (imu["size_p50"], imu["size_max"]) == (40, 40)
    assert topics["again",]["generations"] == 2
    only = topics["only-holes",]
    assert (only["messages"], only["bytes"], only["lost"], only["rate_hz"]) == (0, 0, 1, None)
    assert (found.totals["messages"], found.totals["lost"], found.totals["topics"]) == (218, 51, 6)


def test_senders_and_types_have_their_own_figures(found):
    sender = by(found.senders, "topic", "sender")["odd", HOSTILE]
    assert (sender["messages"], sender["bytes"], sender["size_max"]) == (4, 1111, 1000)
    assert by(found.types, "topic", "type")["imu", "v1"]["messages"] == 200
    assert (sender["intervals"], sender["interval_s_max"]) == (3, 70.0)


def test_intervals_leave_out_what_lies_around_a_gap(found):
    imu = by(found.topics, "topic")["imu",]
    assert (imu["intervals"], imu["interval_s_p50"], imu["interval_s_max"]) == (198, 0.01, 0.01)
    odd = by(found.topics, "topic")["odd",]
    assert odd["silent_from_ns"] - BEGAN_NS in (0, 70 * S, 140 * S)
    again = by(found.topics, "topic")["again",]
    assert (again["intervals"], again["interval_s_p50"], again["silent_from_ns"]) == (0, None, None)


def test_delays_are_from_publishing_to_recording(found):
    imu = by(found.topics, "topic")["imu",]
    assert (imu["messages"], imu["negative"]) == (200, 0)
    assert (imu["delay_s_p50"], imu["delay_s_max"]) == (0.001, 0.002)


def test_gaps_report_position_and_size(found):
    gaps = by(found.gaps, "topic")
    imu = gaps["imu",]
    assert (imu["offset"], imu["span"], imu["lost"], imu["abandoned"]) == (100, 50, 50, 0)
    assert (imu["after_ns"] - BEGAN_NS, imu["before_ns"] - BEGAN_NS) == (990 * MS, 2 * S)
    assert (gaps["odd",]["lost"], gaps["odd",]["abandoned"], gaps["odd",]["before_ns"]) == (0, 2, None)
    only = gaps["only-holes",]
    assert (only["after_ns"], only["before_ns"], only["at_ns"] - BEGAN_NS) == (None, None, 3 * S)


def test_calls_are_matched_with_their_answers(found):
    methods = by(found.calls, "service", "method")
    plan = methods["arm", "plan"]
    assert [plan[name] for name in ("calls", "answered", "errors", "cancelled", "open")] == [3, 1, 1, 1, 0]
    assert (plan["seconds_p50"], plan["seconds_max"]) == (0.005, 0.007)
    assert methods["arm", "where"]["open"] == 1
    assert methods["arm", "where"]["seconds_p50"] is None, "a call without an answer has no duration"
    assert (methods["arm", "scan"]["answered"], methods["arm", "scan"]["seconds_max"]) == (1, 0.009)
    (error,) = found.call_errors
    assert (error["method"], error["reason"], error["error"], error["calls"]) == (
        "plan",
        "raised",
        "ValueError",
        1,
    )
    assert found.malformed_calls == [{"service": "arm", "count": 1}]
    assert (found.totals["calls"], found.totals["errors"]) == (5, 1)


def test_steps_of_rates_begin_at_the_given_time(spark):
    rows = [message("imu", n, n * 10 * MS) for n in range(100)]
    report = Report(spark, frame(spark, rows))
    begin_ns = BEGAN_NS + 5 * MS
    found = {row.time_ns - begin_ns: row.messages for row in report.rates(0.25, begin_ns).collect()}
    assert found == {-250 * MS: 1, 0: 25, 250 * MS: 25, 500 * MS: 25, 750 * MS: 24}


def test_the_largest_gaps_are_kept_when_there_are_too_many(spark, monkeypatch):
    monkeypatch.setitem(find.__globals__, "MOST_ROWS", 3)
    rows = [
        row for n in range(6) for row in (message("imu", 2 * n, n * S), hole("imu", 2 * n + 1, 9, n, n * S))
    ]
    found = find(Report(spark, frame(spark, rows)), "lake")
    assert [gap["lost"] for gap in found.gaps] == [3, 4, 5]
    assert found.cut == {"gaps": 3} and found.totals["gaps"] == 6


def test_minutes_and_rates_add_up_to_all_messages(found):
    assert sum(row["messages"] for row in found.busiest) == 218
    assert [row["messages"] for row in found.busiest] == sorted(
        (r["messages"] for r in found.busiest), reverse=True
    )
    assert found.busiest[0]["topic"] == "imu"
    for name, total in (("messages", 218), ("lost", 51)):
        assert sum(row[name] for row in found.rates) == total
    sizes = [row for row in found.distributions if row["measure"] == "size"]
    assert sum(row["messages"] for row in sizes) == 218
    odd = [(row["step"], row["messages"]) for row in sizes if row["topic"] == "odd"]
    assert odd == [(0, 1), (8, 1), (16, 1), (24, 1)]


def test_everything_is_json_and_the_page_escapes_what_was_recorded(found, tmp_path):
    assert json.loads(json.dumps(found.to_json()))["totals"]["messages"] == 218
    write_page(found, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<script") == 2 and "alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page and "\u202e" not in page and "<b>" not in page.split("<main>")[0]
    with pytest.raises(slipring.BadArgument, match="html="):
        write_page(found, tmp_path / "nowhere" / "page.html")


def test_a_notebook_shows_the_topics(found):
    shown = found._repr_html_()
    assert "lake &lt;b&gt;: 218 messages in 3m30s, 51 messages lost" in shown
    assert shown.count("<tr>") == 1 + len(found.topics)
    assert "<td>imu</td><td>200</td><td>66.6/s</td>" in shown


def test_an_empty_recording_and_a_single_message_have_a_report(spark, tmp_path):
    for rows, says in (([], "Nothing is recorded here"), ([message("one", 0, 0)], "1 message in")):
        found = find(Report(spark, frame(spark, rows)), "small")
        write_page(found, tmp_path / "page.html")
        assert says in (tmp_path / "page.html").read_text()
        assert found.totals["messages"] == len(rows)


def test_wrong_arguments_name_themselves(spark):
    report = Report(spark, frame(spark, []))
    for wrong, argument in ((lambda: report.busiest(0), "count"), (lambda: report.rates(0), "seconds")):
        with pytest.raises(slipring.BadArgument) as caught:
            wrong()
        assert caught.value.argument == argument
