# SPDX-License-Identifier: Apache-2.0
"""One Spark session for all tests here, started fast (support/spark.py). Each test has its own bus root, and
``tmp_path`` for checkpoints and tables.

spark         the session, ended with its JVM after the last test of this directory. A leak check begins after
              its start: its JVM is nobody's leak; a query, worker or handle that a test leaves is.
fast_spark    its settings, for sessions in processes of their own:
              ``slipring.spark.session("x", master="local[2,4]", **fast_spark)``
"""

import pytest

from support import spark as fast


def pytest_collection_finish(session) -> None:
    """The class archive is made before the tests, whose time is limited."""
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
    """Queries of a test that failed, or forgot them, must not run on beside the next one."""
    yield
    if "spark" in request.fixturenames:
        left = request.getfixturevalue("spark").streams.active
        for query in left:
            query.stop()
        assert not left, f"queries are left: {left}"
