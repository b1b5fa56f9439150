# SPDX-License-Identifier: Apache-2.0
"""Slipring's topics in Apache Spark, by naming a format.

    spark = slipring.spark.session("my job")              # or any session of your own
    stream = spark.readStream.format("slipring").option("subscribe", "imu").load()

register(spark)    makes the format known to a session that did not find it by itself
session(...)       a session with the settings that matter for streams of topics

The format is found through the module ``pyspark_slipring``, which is installed with the package, by the Python that
Spark runs. Importing this package makes that the Python of this program, for sessions that start afterwards, unless
$PYSPARK_PYTHON names another.
"""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
    from pyspark.sql.datasource import DataSource  # noqa: F401
except ImportError as error:
    raise ImportError('slipring.spark needs PySpark 4.3: pip install "slipring[spark]"') from error

from . import interpreter
from .session import register, session

__all__ = ["register", "session"]

interpreter.prefer_this()
