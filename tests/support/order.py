# SPDX-License-Identifier: Apache-2.0
"""Which tests run in one process, and which begin first, for `pytest -n 2 --dist loadgroup --no-loadscope-reorder`.

Tests that use the shared Spark session are one group: they share one JVM. A program of the core is a group of its own.
All other tests of a file are one. Groups that take long begin first, so that no worker is left with one at the end.
"""

import pytest

SPARK = "spark"
# By `pytest --durations=0`; what is not listed takes less than those.
LONGEST_FIRST: list[str] = []
EACH_TEST_A_GROUP = ("tests/core/test_core_programs.py",)


def arrange(items: list[pytest.Item]) -> None:
    groups = {item: _group(item) for item in items}
    rank = {name: number for number, name in enumerate(LONGEST_FIRST)}
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: rank.get(_family(item, groups[item]), len(rank)))


def _group(item: pytest.Item) -> str:
    if "spark" in getattr(item, "fixturenames", ()):
        return SPARK
    path = _path(item)
    return item.nodeid if path in EACH_TEST_A_GROUP else path


def _family(item: pytest.Item, group: str) -> str:
    return SPARK if group == SPARK else _path(item)


def _path(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()
