# SPDX-License-Identifier: Apache-2.0
"""Runs a program in a process group of its own, and ends whatever is left of the group with it.

A compiler, pip and a sample start further processes. When we are interrupted, or the time is over, those would go on
and write into folders that are being removed.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def run(
    command: Sequence[str | Path],
    timeout_s: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Its output and exit code; ``OSError`` if it cannot be started, ``subprocess.TimeoutExpired``."""
    # An interrupt while it starts would come before we know whom to end: it waits until we do.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        output, errors = process.communicate(timeout=timeout_s)
    finally:
        with suppress(ProcessLookupError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
        # Until the last of them has let go of the pipes.
        process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
