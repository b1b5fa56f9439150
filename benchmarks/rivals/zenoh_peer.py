# SPDX-License-Identifier: Apache-2.0
"""zenoh between two peers over a Unix socket, blocking when congested so that everything arrives."""

import json
import time

import zenoh

from slipring.bench.transport import Receive, Send, Transport

BACKLOG = 1024


class ZenohPeer(Transport):
    threads_of_its_own = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.sessions: list = []
        self.declared: list = []

    def _open(self, channel: str, role: str) -> zenoh.Session:
        config = {
            "mode": "peer",
            # Its shared memory leaves files behind and was slower at 64 B.
            "transport": {"shared_memory": {"enabled": False}},
            "scouting": {"multicast": {"enabled": False}},
            # Without this a peer also listens on a network port.
            "listen": {"endpoints": []},
            role: {"endpoints": [f"unixsock-stream/{self.place}/{channel}.zenoh"]},
        }
        session = zenoh.open(zenoh.Config.from_json5(json.dumps(config)))
        self.sessions.append(session)
        return session

    def sender(self, channel: str) -> Send:
        publisher = self._open(channel, "connect").declare_publisher(
            channel, congestion_control=zenoh.CongestionControl.BLOCK
        )
        self.declared.append(publisher)
        # A put before the subscriber is known would go nowhere.
        while not publisher.matching_status.matching:
            time.sleep(0.01)
        return publisher.put

    def receiver(self, channel: str) -> Receive:
        subscriber = self._open(channel, "listen").declare_subscriber(
            channel, zenoh.handlers.FifoChannel(BACKLOG)
        )
        self.declared.append(subscriber)
        receive = subscriber.recv
        return lambda: receive().payload.to_bytes()

    def close(self) -> None:
        for session in self.sessions:
            session.close()


TRANSPORTS = {"zenoh": ZenohPeer}
