# SPDX-License-Identifier: Apache-2.0
"""One Spark session for all tests here; each test has its own bus root and checkpoint directory."""

import os

import pytest

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    import slipring.spark

    here = tmp_path_factory.mktemp("spark")
    session = slipring.spark.session(
        "tests",
        master="local[2,4]",
        **{"spark.sql.warehouse.dir": str(here / "warehouse"), "spark.local.dir": str(here / "local")},
    )
    yield session
    session.stop()
