# SPDX-License-Identifier: Apache-2.0
"""Works on orders, committing each. With "crash" it kills itself in the middle of one."""

import os
import signal
import sys

import slipring

with slipring.Bus("shop") as bus:
    sub = bus.subscriber("orders", cursor="billing", start="oldest")
    done = 0
    while (msg := sub.recv(timeout=0)) is not None:
        if done == 4 and "crash" in sys.argv:
            print("killed while working on", msg.body.decode(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        print("billed", msg.body.decode(), flush=True)
        sub.commit()
        done += 1
    print("left:", bus.cursors("orders")[0]["lag"])
