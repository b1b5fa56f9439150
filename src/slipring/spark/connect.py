# SPDX-License-Identifier: Apache-2.0
"""A Spark Connect server of one's own: for programs that talk to Spark through Connect, as pipelines do."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from slipring.errors import BadArgument

from .session import session

_TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
_SETTINGS = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",  # any that is free: several may run at once
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
}


@contextmanager
def server(app_name: str, *, master: str | None = None, **conf: str | int | bool) -> Iterator[str]:
    """Serves until the block ends; yields the address for ``session(master=…)`` or $SPARK_REMOTE.

    The address holds a secret: whoever knows it runs code as this user. Arguments: as of `session`.
    """
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise BadArgument("this process has a Spark session already: stop it first", argument="master")
    # In the environment, where other users cannot see it; settings are on the JVM's command line.
    os.environ[_TOKEN] = token = secrets.token_hex(16)
    try:
        spark = session(app_name, master=master, **{**_SETTINGS, **conf})
        try:
            jvm = spark.sparkContext._jvm
            assert jvm is not None
            service = getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
            port = getattr(service, "MODULE$").localPort()
            yield f"sc://localhost:{port}/;token={token}"
        finally:
            spark.stop()
    finally:
        del os.environ[_TOKEN]
