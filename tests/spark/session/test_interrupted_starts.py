# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C never reaches the Java processes, not even while they start."""

from support.waiting import WATCHDOG_S

# The whole group gets SIGINT all the time, as from a terminal, while processes are started.
STARTING = """
import os, signal, sys, threading
from slipring import local_spark
os.setpgid(0, 0)
signal.signal(signal.SIGINT, lambda *_: None)
over = threading.Event()
def interrupting():
    while not over.is_set():
        os.killpg(0, signal.SIGINT)
thread = threading.Thread(target=interrupting)
thread.start()
# As Java does, before it has a handler.
unblocks = "import signal; signal.signal(2, signal.SIG_DFL); signal.pthread_sigmask(signal.SIG_UNBLOCK, {2})"
codes = {local_spark.start([sys.executable, "-I", "-S", "-c", unblocks]).wait() for _ in range(100)}
over.set()
thread.join()
say(codes)
"""


def test_ctrl_c_at_any_moment_of_its_start_does_not_end_a_process(processes):
    assert processes.start(STARTING).hear(WATCHDOG_S) == {0}
