# SPDX-License-Identifier: Apache-2.0
"""How much of the machine other programs used during a sample: on two processors any of it spoils figures."""

import os
import resource
import time
from pathlib import Path

# Above this share of a processor the run reports that other processes disturbed it. Housekeeping stays below.
TOLERATED = 0.1


def _busy_s() -> float:
    """Processor seconds spent by all since boot, time stolen by other machines included."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = (
        int(field) for field in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    )
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _ours_s() -> float:
    """Processor seconds of this run: this process and the samples it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


class OtherLoad:
    """Started before a sample; afterwards ``processors`` is how many processors other programs kept busy."""

    def __init__(self) -> None:
        self.begun, self.busy, self.ours = time.monotonic(), _busy_s(), _ours_s()

    def elapsed_s(self) -> float:
        return round(time.monotonic() - self.begun, 3)

    def processors(self) -> float:
        others = (_busy_s() - self.busy) - (_ours_s() - self.ours)
        # The two clocks tick differently: a little below zero means none.
        return round(max(0.0, others / self.elapsed_s()), 3)
