# SPDX-License-Identifier: Apache-2.0
"""PySpark's daemon of Python workers, without its traceback whenever Spark hangs up first.

Spark closes a worker's socket as soon as it has its answer. Over TCP nobody notices; over a Unix domain socket, which
saves 40 ms a task, the worker's last flush fails with a broken pipe, and the daemon prints a traceback for what is no
fault. The worker ends as it did before; everything else that goes wrong is reported as before.
"""

from __future__ import annotations

from typing import Any

from pyspark import daemon

_HUNG_UP = 1  # not to be used again

_pyspark_worker = daemon.worker


def worker(sock: Any, authenticated: Any) -> int:
    try:
        return _pyspark_worker(sock, authenticated)
    except BrokenPipeError:
        return _HUNG_UP


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
