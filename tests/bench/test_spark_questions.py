# SPDX-License-Identifier: Apache-2.0
"""Each question of `python -m benchmarks.spark` that has to do with files, streams, lakes and replays, asked of a few
rows: every figure is there, and nothing is left behind."""

import io

import pytest
from benchmarks.spark import delay, paths, picture, replays, rows, sources, table
from rich.console import Console

import slipring
from support import spark as fast

COUNT = 2000
pytestmark = pytest.mark.timeout(400)  # a watchdog: Spark has to start first, maybe beside much else


@pytest.fixture
def snapshot(spark):
    return fast.SparkSnapshot()


@pytest.fixture
def made(spark, bus_root, tmp_path):
    yield rows.make(spark, 64, COUNT, bus_root, tmp_path)
    assert not spark.streams.active
    for name in (rows.BUS, replays.AGAIN):
        with slipring.Bus(name, root=bus_root) as bus:
            assert bus.topics() == (["rows-64", "rows-64-typed"] if name == rows.BUS else [])


def test_arrow_files_hold_the_rows_of_the_topic_and_are_read_by_as_many_tasks(spark, made):
    topic, arrow = (read(spark, made, rows.SIX) for read in (paths._topic, paths._arrow))
    assert topic.rdd.getNumPartitions() == arrow.rdd.getNumPartitions() == rows.TASKS
    assert arrow.schema == topic.schema
    assert sorted(arrow.collect()) == sorted(topic.collect())
    assert len(arrow.collect()) == COUNT


def test_the_fields_of_the_typed_topic_are_the_bytes_of_the_other(spark, made):
    fields = paths._typed(spark, made).toPandas()
    values = paths._topic(spark, made, ("value",)).toPandas()["value"]
    assert fields.to_numpy().tobytes() == b"".join(bytes(value) for value in values)
    assert paths.of(64) == list(paths.PATHS) and "fields to nothing: topic" not in paths.of(1024)


@pytest.mark.parametrize("path", [path for path in paths.PATHS if path.endswith("Arrow IPC")])
def test_arrow_files_have_a_rate(spark, made, path):
    assert paths.rate(path, spark, made) > 0


def test_every_streaming_source_has_a_rate(spark, made, monkeypatch):
    monkeypatch.setattr(sources, "RATE_ROWS_PER_S", 1000)
    found = {source: sources.rate(source, spark, made) for source in sources.SOURCES}
    assert len(found) == 4 and min(found.values()) > 0, found


def test_a_replay_has_two_rates_and_that_of_the_publishing_is_the_higher(spark, made):
    found = replays.rates(spark, made, replays.recorded(spark, made))
    assert found["publishing"] > found["whole call"] > 0


def test_every_message_has_a_delay_and_percentiles_ascend(spark, bus_root, tmp_path, monkeypatch):
    monkeypatch.setattr(delay, "WARM_UP", 2)
    told = delay.to_lake(spark, bus_root, tmp_path, seconds=0.5)
    assert (len(told["delays_s"]), told["lost"]) == (told["messages"], 0) and min(told["delays_s"]) > 0
    figures = list(delay.percentiles_ms(told["delays_s"]).values())
    assert figures == sorted(figures) and len(figures) == 4
    with slipring.Bus(rows.BUS, root=bus_root) as bus:
        assert bus.topics() == []


@pytest.mark.leaks_allowed("matplotlib keeps the fonts it has used open")
def test_a_run_is_shown_in_tables_and_a_picture_with_a_panel_for_each_question(tmp_path):
    machine = {
        "processor": "P",
        "processors": 2,
        "kernel": "6",
        "python": "CPython",
        "taken_at": "2026-01-01T",
    }
    run = {
        "machine": machine,
        "quick": True,
        "rates": {"64": {path: [1e6, 2e6] for path in paths.PATHS}},
        "sources": {"64": {source: [1e4, 2e4] for source in sources.SOURCES}},
        "replay": {"64": {"publishing": [3e5], "whole call": [1e5]}},
        "micro_batch_s": [0.07, 0.08],
        "delay": {"delays_s": [0.1, 0.3], "lost": 0, "messages": 2, "look_s_p99": 0.003, "look_s_most": 0.01},
    }
    output = io.StringIO()
    table.show(run, Console(file=output, width=table.WIDTH))
    for told in (
        *paths.PATHS,
        *sources.SOURCES,
        "MB/s",
        "whole call",
        "from a send into the lake: p50 300 ms",
    ):
        assert told in output.getvalue()
    titles = [panel.title for panel in picture.panels(run)]
    assert len(titles) == len(set(titles)) == len(picture.WAYS) + 4
    picture.draw(run, tmp_path / "spark.png")
    assert (tmp_path / "spark.png").stat().st_size > 10_000
