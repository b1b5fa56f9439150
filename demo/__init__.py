# SPDX-License-Identifier: Apache-2.0
"""A small robot of real processes that are killed at random, and an audit of every message they sent.

    python -m demo [--seconds 25] [--seed N] [--out demo-report]

Processes, journals, signals and checks are those of the crash tests, in tests/storm. In reading order:

    robot       topics and components, as data
    roles/      the work of each component: the only code here that uses Slipring as a robot does
    interruption    Ctrl-C, handled between two steps
    live_display    the display during the run
    shutdown    supervises the components, ends them in order and reads the last counters
    run         one run from set-up to the evidence
    evidence    the journals of all processes, the signals, the last counters
    audit       pure functions: evidence -> claims, PASS or FAIL
    timings     pure functions: evidence -> rates, latencies, pauses
    summary     the table at the end
    page/       the same as one HTML page with charts
    spark/      the recording of the run by Spark
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # where `storm` is
