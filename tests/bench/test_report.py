# SPDX-License-Identifier: Apache-2.0
"""A run as tables and pictures: units, order, remarks."""

import itertools

import pytest
from benchmarks import panels, plot
from benchmarks.suite import ALL

from slipring.bench import report
from slipring.bench.histogram import Histogram
from slipring.bench.spelling import heading, number, spelled


def sample(transport, value, turn=0, question="throughput", figure="messages_per_s", size=64, **more):
    settings = {"size": size} if question == "throughput" else {}
    case = f"{transport} size={size}" if settings else transport
    told = {"question": question, "transport": transport, "settings": settings, "case": case, "round": turn}
    return {**told, "placement": "near", "other_load": 0.0, "figures": {figure: value}, **more}


def run(samples, quick=True, rounds=1):
    described = {
        "processor": "P",
        "processors": 2,
        "kernel": "6",
        "python": "CPython",
        "taken_at": "2026-01-01T",
    }
    plan = {"quick": quick, "only": [], "rounds": rounds, "limit_s": 9}
    return {"samples": samples, "machine": described, "plan": plan, "left_out": {}, "targets": []}


@pytest.mark.parametrize(
    ("figure", "value", "text"),
    [
        ("messages_per_s", 13_412_345, "13.4 M/s"),
        ("messages_per_s", 999_999, "1 M/s"),
        ("p50_us", 0.482, "482 ns"),
        ("p99_us", 1.02, "1.02 µs"),
        ("max_us", 12_100, "12.1 ms"),
        ("ns_per_send", 93.1, "93.1 ns"),
        ("cpu_ns_per_send", 1500, "1.5 µs"),
        ("bytes_per_s", 40.6e9, "40.6 GB/s"),
        ("cpu_s_per_million", 0.0595, "59.5 ns"),
        ("cpu_percent", 0.0, "0 %"),
        ("lost", 3, "3"),
    ],
)
def test_a_figure_carries_its_unit(figure, value, text):
    assert spelled(figure, value) == text


def test_headings_do_not_repeat_the_unit():
    assert [heading(name) for name in ("messages_per_s", "p99.9_us", "ns_per_send")] == [
        "messages",
        "p99.9",
        "send",
    ]
    assert number(0.0001234) == "0.000123"


def test_cases_with_the_same_settings_stand_together_the_best_first():
    samples = [sample("pyzmq", 1), sample("slipring", 9), sample("pyzmq", 1, size=1024), sample("mp-pipe", 5)]
    rows = report.question_table(ALL, samples, "throughput").rows
    assert [row[0] for row in rows] == [
        "slipring size=64",
        "mp-pipe size=64",
        "pyzmq size=64",
        "pyzmq size=1024",
    ]


def test_tails_are_those_of_all_rounds_together():
    rounds = [[1000] * 100, [1000] * 98 + [50_000] * 2]
    samples = [
        sample("slipring", 1.0, turn, "round_trip", "p50_us", histogram=Histogram.of(times).text())
        for turn, times in enumerate(rounds)
    ]
    assert report.tail(samples, "round_trip", "slipring", "p99_us") == pytest.approx(50, rel=0.01)
    assert report.tail(samples, "round_trip", "slipring", "p50_us") == 1.0


def test_the_row_of_a_failed_case_names_the_cause():
    failed = {**sample("pyzmq", 1), "error": "no such socket"}
    del failed["figures"]
    (row,) = report.question_table(ALL, [failed], "throughput").rows
    assert row[1:3] == ("failed", "no such socket")


def test_remarks_name_what_was_left_out_disturbance_and_missing_rounds():
    disturbed = run([sample("slipring", 1, other_load=1.5)], rounds=5)
    disturbed["left_out"] = {"grpc": "needs grpcio"}
    left_out, disturbance, rounds = report.remarks(ALL, disturbed)
    assert "grpc: needs grpcio" in left_out and "1.5 processors" in disturbance and "1 of 5 rounds" in rounds
    assert report.remarks(ALL, run([sample("slipring", 1)])) == []


def test_a_panel_distinguishes_ours_rivals_and_floors():
    samples = [
        sample("pyzmq", 1e5),
        sample("slipring", 1e6),
        sample("c-core", 1e7),
        sample("slipring", 3e6, 1),
    ]
    (panel,) = panels.panels(samples)
    assert [(row.name, row.kind) for row in panel.rows] == [
        ("c-core", "floor"),
        ("slipring", "ours"),
        ("pyzmq", "rival"),
    ]
    assert (panel.rows[1].spread.low, panel.rows[1].spread.high) == (1e6, 3e6)


def test_a_panel_names_what_is_ahead_of_the_c_program():
    samples = [sample("slipring", 2e7), sample("c-core", 1e7), sample("pyzmq", 1e5)]
    (panel,) = panels.panels(samples)
    assert panel.note == "messages, more is better; slipring ahead of c-core in this run"
    (panel,) = panels.panels(samples[1:])
    assert panel.note == "messages, more is better" and panel.reference.name == "c-core"


@pytest.mark.parametrize("factor", [1.05, 1.3, 2.56, 3.3, 7, 20, 150, 1e4, 1e9])
def test_a_scale_has_three_to_six_ticks(factor):
    for mantissa in (1.0, 1.01, 1.6, 2.5, 3.1, 4.9, 5.1, 7.7, 9.99):
        low, high = mantissa * 1e-3, mantissa * 1e-3 * factor
        found = plot.ticks(low, high)
        assert 3 <= len(found) <= 6, found
        assert found == sorted(set(found)) and low <= found[0] and found[-1] <= high


def texts_of(figure):
    """All that is written in a picture, with its place in it."""
    from matplotlib.text import Text

    figure.canvas.draw()
    for text in figure.findobj(lambda one: isinstance(one, Text) and one.get_visible() and one.get_text()):
        if text.axes is None or text.axes.get_visible():
            yield text, text.get_window_extent()


@pytest.mark.leaks_allowed("matplotlib keeps the fonts it has used open")
@pytest.mark.parametrize("count", [1, 2, 6])
def test_nothing_in_a_picture_is_cut_and_scales_have_ticks_that_do_not_touch(count):
    from matplotlib import pyplot

    rows = [("slipring-one-writer", 2.1e7), ("slipring", 2e7), ("c-core", 1.9e7), ("pyzmq-multipart", 1.5e7)]
    samples = [sample(name, value) for name, value in rows]
    (panel,) = panels.panels(samples)
    about = plot.note(run([{**each, "other_load": 0.5} for each in samples], rounds=5))
    title = "Slipring beside its rivals, one Python process to another"
    figure = plot.compose([panel] * count, min(count, 3), title, panels.LEGEND, 2 * about)
    try:
        for text, place in texts_of(figure):
            assert figure.bbox.x0 <= place.x0 and place.x1 <= figure.bbox.x1, text
            assert figure.bbox.y0 <= place.y0 and place.y1 <= figure.bbox.y1, text
        for axes in (axes for axes in figure.axes if axes.get_visible()):
            labels = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
            assert len(labels) >= 2
            assert all(a.x1 < b.x0 for a, b in itertools.pairwise(labels)), labels
    finally:
        pyplot.close(figure)


@pytest.mark.leaks_allowed("matplotlib keeps the fonts it has used open")
@pytest.mark.parametrize("quick", [True, False])
def test_a_picture_is_drawn_of_what_there_is(tmp_path, quick):
    samples = [
        sample("pyzmq", 1e5),
        sample("slipring", 1e6),
        sample("slipring", 1.0, 0, "round_trip", "p50_us"),
    ]
    picture = tmp_path / "run.png"
    assert plot.draw(run(samples, quick), picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not plot.draw(run([], quick), tmp_path / "none.png") and not (tmp_path / "none.png").exists()
