# SPDX-License-Identifier: Apache-2.0
"""PySpark's daemon of Python workers, without a traceback when Spark closes a connection first.

Spark closes a worker's socket as soon as it has the answer. Over TCP that has no effect. Over a Unix domain socket,
which saves 40 ms a task, the worker's last flush fails with a broken pipe. PySpark's daemon would print a traceback,
although nothing is wrong. Here the worker exits silently; all other errors are reported as before.
"""

from __future__ import annotations

from typing import Any

from pyspark import daemon

_NOT_REUSABLE = 1  # exit status: Spark must start another worker

_pyspark_worker = daemon.worker


def worker(sock: Any, authenticated: Any) -> int:
    try:
        return _pyspark_worker(sock, authenticated)
    except BrokenPipeError:
        return _NOT_REUSABLE


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
