# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, SIGTERM and SIGHUP end the run at a safe place: not between starting a process and knowing it."""

import signal

_signals: list[int] = []


class Interrupted(Exception):
    """Somebody wants the run to end now."""


def heed() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: _signals.append(number))


def check() -> None:
    if _signals:
        raise Interrupted
