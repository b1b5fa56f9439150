# SPDX-License-Identifier: Apache-2.0
"""A component of a robot: brakes when something is near, or when its lidar falls silent."""

import slipring

NEAR_M = 1.0
SILENCE_S = 0.2


class Brake:
    def __init__(self, bus):
        self._distances = bus.subscriber("lidar", types=["distance"])
        self._commands = bus.publisher("brake", sender="brake", delivery="reliable", capacity="64KiB")

    def step(self):
        message = self._distances.recv(timeout=SILENCE_S)
        if message is None:
            self._commands.send(b"silence")
        elif self._distances.lost:
            self._commands.send(b"blind: %d lost" % self._distances.lost)
        elif float(message.body) < NEAR_M:
            self._commands.send(b"obstacle")

    def run(self):
        while True:
            self.step()


if __name__ == "__main__":
    Brake(slipring.Bus("robot")).run()
