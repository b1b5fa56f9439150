# SPDX-License-Identifier: Apache-2.0
"""Displays of a lake in a notebook."""

import re

from lake import filling
from slipring.pipelines.lake import Lake


def test_a_notebook_shows_the_topics_of_a_lake(tmp_path):
    lake = Lake.create(tmp_path / "a <b> lake")
    rows = filling.messages("imu", 0, 3000), filling.hole("imu", 3000, 5, 4), filling.messages("gps", 7, 9)
    parts = ("imu", rows[0]), ("imu", rows[1]), ("gps", rows[2])
    filling.record(lake, lake.begin({}), 0, *parts)
    shown = lake._repr_html_()
    assert "a &lt;b&gt; lake: 3,002 messages" in shown
    cells = [re.findall("<td>([^<]*)</td>", row) for row in shown.split("<tr>")[2:]]
    assert [row[:4] for row in cells] == [["gps", "2", "0", "0"], ["imu", "3,000", "4", "1"]]


def test_a_notebook_shows_an_empty_lake(tmp_path):
    assert "0 messages" in Lake.create(tmp_path / "lake")._repr_html_()
