# SPDX-License-Identifier: Apache-2.0
"""Redis pub/sub through a server of our own on a Unix socket, with the parser in C and nothing kept on disk.

Everything arrives: the server never throws a slow subscriber out. One publish waits for its answer; ``redis-pipelined``
waits once for a hundred, its fastest.
"""

import atexit
import ctypes
import shutil
import signal
import subprocess
import time

import redis

from slipring.bench.transport import Receive, Send, Transport

PIPELINED = 100
PATIENCE_S = 10.0
PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class PubSub(Transport):
    # Three processes: two on two processors would leave the server to stand in somebody's way.
    threads_of_its_own = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        program = shutil.which("redis-server")
        if program is None:
            raise FileNotFoundError(
                "redis-server is missing; install it with: sudo apt-get install redis-server"
            )
        self.socket = f"{place}/redis.sock"
        command = [program, "--unixsocket", self.socket, "--dir", str(place)]
        command += ["--port", "0", "--save", "", "--appendonly", "no"]
        command += ["--client-output-buffer-limit", "pubsub", "0", "0", "0"]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=_end_with_parent)
        # Not in close(): that is every process's, and what the server still holds has to arrive.
        atexit.register(self._end, server)
        self._wait_for_server()
        self.client = None

    @staticmethod
    def _end(server: subprocess.Popen) -> None:
        server.terminate()
        server.wait()

    def _wait_for_server(self) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                with redis.Redis(unix_socket_path=self.socket) as client:
                    client.ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)

    def _open(self) -> redis.Redis:
        self.client = self.client or redis.Redis(unix_socket_path=self.socket)
        return self.client

    def sender(self, channel: str) -> Send:
        publish = self._open().publish
        return lambda body: publish(channel, body)

    def receiver(self, channel: str) -> Receive:
        subscriber = self._open().pubsub()
        subscriber.subscribe(channel)
        # Its plainest way to wait; the first answer confirms the subscription.
        receive = subscriber.parse_response
        receive()
        return lambda: receive()[2]

    def close(self) -> None:
        if self.client is not None:
            self.client.close()


class Pipelined(PubSub):
    def publisher(self, channel: str, subscribers: int) -> Send:
        self.pipeline = pipeline = self._open().pipeline(transaction=False)
        publish, execute, waiting = pipeline.publish, pipeline.execute, 0

        def send(body: bytes) -> None:
            nonlocal waiting
            publish(channel, body)
            waiting += 1
            if waiting == PIPELINED:
                execute()
                waiting = 0

        return send

    def flush(self) -> None:
        self.pipeline.execute()


TRANSPORTS = {"redis-pub-sub": PubSub, "redis-pipelined": Pipelined}
