# SPDX-License-Identifier: Apache-2.0
"""One Spark session for all tests in these rooms, started fast (support/spark.py). Each test has its own bus root, and
``tmp_path`` for checkpoints and tables.

spark         the session; it ends with its JVM after the last test of this directory. The leak check of a test begins
              after its start: the JVM is not a leak, but a query, worker or handle left by the test is.
fast_spark    its settings, for sessions in other processes:
              ``slipring.spark.session("x", master="local[2,4]", **fast_spark)``
"""

import pytest

from support import spark as fast


def pytest_collection_finish(session) -> None:
    """Make the class archive before the tests, because the time of a test is limited."""
    if any({"spark", "fast_spark"} & set(getattr(item, "fixturenames", ())) for item in session.items):
        fast.class_archive()


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    session = fast.shared_session(tmp_path_factory.mktemp("spark"))
    yield session
    fast.end_session(session)


@pytest.fixture(scope="session")
def fast_spark():
    return fast.fast_settings()


@pytest.fixture
def snapshot():
    return fast.SparkSnapshot()


@pytest.fixture(autouse=True)
def no_query_is_left(request):
    """Stop queries that a test left, so that they do not run during the next test."""
    yield
    if "spark" in request.fixturenames:
        left = request.getfixturevalue("spark").streams.active
        for query in left:
            query.stop()
        assert not left, f"queries are left: {left}"
