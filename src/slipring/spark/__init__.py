# SPDX-License-Identifier: Apache-2.0
"""Topics as tables and streams of Apache Spark: ``format("slipring")``.

    spark = slipring.spark.session("my job")              # or any session of your own
    stream = spark.readStream.format("slipring").option("subscribe", "imu").load()

session(...)       start or reuse a session with settings for streams of topics
register(spark)    make the format known to a session that did not find it

Rooms: source/ reads topics, decode/ turns values into typed columns, sink/ writes topics. The modules beside them are
shared: options, errors, the identity of a bus directory, and the processes of a session.

Spark finds the format through the module ``pyspark_slipring``, which is installed with this package, in the Python that
Spark runs. Importing this package chooses the Python of this program for sessions that start later, unless
$PYSPARK_PYTHON names another.
"""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
    from pyspark.sql.datasource import DataSource  # noqa: F401
except ImportError as error:
    raise ImportError('slipring.spark needs PySpark 4.3: pip install "slipring[spark]"') from error

from . import worker_python
from .session import register, session

__all__ = ["register", "session"]

worker_python.prefer_this()
