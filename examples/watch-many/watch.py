# SPDX-License-Identifier: Apache-2.0
"""One thread waits on twenty topics and sleeps until one of them has something."""

import threading

import slipring

with slipring.Bus("robot") as bus:
    publishers = [bus.publisher(f"joint-{number}", capacity="64KiB") for number in range(20)]
    subscribers = [bus.subscriber(pub.topic) for pub in publishers]

    threading.Timer(0.1, publishers[7].send, [b"moved"]).start()
    for sub in slipring.wait(subscribers, timeout=10):
        print(sub.topic, sub.recv(timeout=0).body.decode())

    print("quiet again:", slipring.wait(subscribers, timeout=0.1))
    for topic in bus.topics():
        bus.remove(topic)
