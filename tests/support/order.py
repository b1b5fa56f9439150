# SPDX-License-Identifier: Apache-2.0
"""Which tests run in one process, and which begin first, for `pytest -n 4 --dist loadgroup --no-loadscope-reorder`.

Tests that share something costly are one group: the Spark session with its JVM, the short run of the demo. Each
program of the core and each example is a group of its own. All other tests of a file are one. Groups that take long
begin first, so that no worker is left with one at the end.
"""

import pytest

SHARED = {"spark": "the Spark session", "show": "the run of the demo"}  # fixture: group
EACH_TEST_A_GROUP = ("tests/core/test_core_programs.py", "tests/package/test_examples_run.py")
# By `pytest --durations=0`; what is not listed takes less.
LONGEST_FIRST = [
    SHARED["spark"],
    "tests/demo/test_demo_with_spark.py",
    "tests/spark/source/test_exactly_once.py",
    "tests/spark/session/test_worker_python.py",
    "tests/spark/pipelines/test_record_killed.py",
    "tests/spark/cluster/test_standalone.py",
    "tests/spark/cluster/test_connect.py",
    "tests/spark/session/test_class_archive.py",
    "tests/spark/pipelines/test_record_command.py",
    "tests/spark/pipelines/test_replay_report_commands.py",
    "tests/core/test_core_programs.py",
    "tests/package/test_examples_run.py",
    "tests/spark/sink/test_kills.py",
    "tests/spark/cluster/test_two_executors.py",
    "tests/crash/storms/test_storm.py",
    "tests/hostile/test_faults.py",
    "tests/hostile/test_extreme_words.py",
    "tests/lake/test_killed.py",
    "tests/processes/test_waiting.py",
    "tests/bridge/test_kills.py",
    "tests/crash/instructions/test_cells_any_instruction.py",
    SHARED["show"],
]


def arrange(items: list[pytest.Item]) -> None:
    rank = {name: number for number, name in enumerate(LONGEST_FIRST)}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=lambda item: rank.get(_shared(item) or _path(item), len(rank)))


def check_groups(config: pytest.Config, ids: list[str]) -> None:
    """pytest-xdist reads the group from the end of an id. Without groups every worker starts its own Spark sessions."""
    without = [one for one in ids if "@" not in one.rpartition("]")[2]]
    if config.getoption("dist") == "loadgroup" and without:
        pytest.exit(
            f"pytest {pytest.__version__} and the installed pytest-xdist ignore groups: {without[0]!r} has none; "
            "install the versions that pyproject.toml allows (rm -r .venv; make setup)",
            returncode=pytest.ExitCode.USAGE_ERROR,
        )


def _group(item: pytest.Item) -> str:
    path = _path(item)
    alone = item.nodeid.replace("[", "(").replace(
        "]", ")"
    )  # pytest-xdist looks for groups behind the last bracket
    return _shared(item) or (alone if path in EACH_TEST_A_GROUP else path)


def _shared(item: pytest.Item) -> str | None:
    fixtures = getattr(item, "fixturenames", ())
    return next((group for fixture, group in SHARED.items() if fixture in fixtures), None)


def _path(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()
