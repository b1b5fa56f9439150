# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP end the run between two steps, never before a started process is registered."""

import signal

_signals: list[int] = []


class Interrupted(Exception):
    """A signal ended the run."""


def catch_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: _signals.append(number))


def check() -> None:
    if _signals:
        raise Interrupted
