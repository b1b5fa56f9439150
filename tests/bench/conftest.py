# SPDX-License-Identifier: Apache-2.0
"""A Spark session for the questions about Spark. support/spark.py explains its settings.

These questions are not part of the package. The tests import them from the checkout.
"""

import sys
from pathlib import Path

import pytest

from support import spark as fast

sys.path.insert(0, str(Path(__file__).parents[2]))


def pytest_collection_finish(session) -> None:
    """The class archive is made before the tests, whose time is limited."""
    if any("spark" in getattr(item, "fixturenames", ()) for item in session.items):
        fast.class_archive()


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    session = fast.shared_session(tmp_path_factory.mktemp("spark"))
    yield session
    fast.end_session(session)
