# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C does not reach the Java processes, not even in the moment in which they start."""

from support.waiting import WATCHDOG_S

# The whole group gets SIGINT all the time, as from a terminal, while processes are started.
STARTING = """
import os, signal, threading
from slipring import local_spark
os.setpgid(0, 0)
signal.signal(signal.SIGINT, lambda *_: None)
over = threading.Event()
def interrupting():
    while not over.is_set():
        os.killpg(0, signal.SIGINT)
thread = threading.Thread(target=interrupting)
thread.start()
codes = {local_spark.start(["/bin/true"]).wait() for _ in range(300)}
over.set()
thread.join()
say(codes)
"""


def test_ctrl_c_at_any_moment_of_its_start_does_not_end_a_process(processes):
    assert processes.start(STARTING).hear(WATCHDOG_S) == {0}
