# SPDX-License-Identifier: Apache-2.0
"""A private Spark Connect server, for programs that reach Spark through Connect, such as declarative pipelines."""

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
    "spark.connect.grpc.binding.port": "0",  # any free port: several servers may run at once
    "spark.sql.artifact.isolation.enabled": "true",
    "spark.sql.artifact.isolation.alwaysApplyClassloader": "true",
}


@contextmanager
def server(app_name: str, *, master: str | None = None, **conf: str | int | bool) -> Iterator[str]:
    """Serve until the block ends; yield the address for ``session(master=…)`` or $SPARK_REMOTE.

    The address holds a secret: a program that knows it can run code as this user. Arguments: see `session`.
    """
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is not None:
        raise BadArgument("this process already has a Spark session: stop it first", argument="master")
    # The environment is hidden from other users; settings appear on the JVM's command line.
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
