# SPDX-License-Identifier: Apache-2.0
"""Synchronisation without sleeps: conditions are polled, and every limit here is a watchdog, never a promise.

eventually(condition, what)      polls until the condition is true, returns its value; fails after WATCHDOG_S.
wait_until_asleep(pid, tid)      until that thread sleeps in the kernel (seen twice in one sleep or, if it
                                 polls, always seen asleep).
Call(fn, *args)                  fn in a thread: .result() its value or error, .wait_until_asleep(), .done.
cpu_seconds(pid)                 processor time a process has used, from /proc.
"""

import os
import threading
import time
from pathlib import Path

from support.patience import scaled

WATCHDOG_S = scaled(60.0)
POLL_S = 0.002
POLLER_LOOKS = 10


def eventually(condition, what: str = "the condition", timeout: float = WATCHDOG_S):
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout} s")
        time.sleep(POLL_S)


def _sleep_mark(pid: int, tid: int):
    """The number of the sleep a thread is in, or None while it runs."""
    try:
        status = Path(f"/proc/{pid}/task/{tid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        raise AssertionError(f"thread {tid} of process {pid} ended instead of waiting") from None
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return fields["voluntary_ctxt_switches"] if fields["State"].startswith("S") else None


def wait_until_asleep(pid: int, tid: int | None = None) -> None:
    seen = []

    def asleep() -> bool:
        seen.append(_sleep_mark(pid, tid or pid))
        same = len(seen) > 1 and seen[-1] is not None and seen[-1] == seen[-2]
        return same or (len(seen) >= POLLER_LOOKS and None not in seen[-POLLER_LOOKS:])

    eventually(asleep, f"process {pid} going to sleep")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Call:
    """One function running in a daemon thread of the test process."""

    def __init__(self, fn, *args, **kwargs) -> None:
        self._outcome: list = []
        self._thread = threading.Thread(target=self._run, args=(fn, args, kwargs), daemon=True)
        self._thread.start()

    def _run(self, fn, args, kwargs) -> None:
        try:
            self._outcome[:] = [fn(*args, **kwargs), None]
        except BaseException as error:  # noqa: BLE001 - raised again by result()
            self._outcome[:] = [None, error]

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def ended(self, timeout: float = WATCHDOG_S) -> bool:
        self._thread.join(timeout)
        return self.done

    def wait_until_asleep(self) -> None:
        wait_until_asleep(os.getpid(), self._thread.native_id)

    def result(self, timeout: float = WATCHDOG_S):
        assert self.ended(timeout), f"the call did not end within {timeout} s"
        value, error = self._outcome
        if error is not None:
            raise error
        return value
