# SPDX-License-Identifier: Apache-2.0
"""One member of a conversation: waits for all members, sends one message, receives those of the others."""

import sys

import slipring

name, others = sys.argv[1], sys.argv[2:]

with slipring.Bus("talk") as bus:
    me = bus.join("chat", sender=name, start="oldest", capacity="64KiB")
    me.send(b"hello")
    heard = []
    while len(heard) < len(others):
        msg = me.recv(timeout=30)
        if msg is None:
            raise SystemExit(f"{name}: nothing came within 30 s")
        heard.append(msg.sender)
    print(name, "heard", ", ".join(sorted(heard)))
