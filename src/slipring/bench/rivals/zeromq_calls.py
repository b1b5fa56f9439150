# SPDX-License-Identifier: Apache-2.0
"""pyzmq REQ to REP over ipc://: plain bytes, no method name, nothing to encode: its fastest call."""

import threading

import zmq

from slipring.bench.transport import Call, Transport


class ReqRep(Transport):
    threads_of_its_own = True

    def _socket(self, kind: int) -> zmq.Socket:
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        return self.socket

    def serve(self) -> None:
        socket = self._socket(zmq.REP)
        socket.bind(f"ipc://{self.place}/calls.zmq")

        def answer() -> None:
            while body := socket.recv():
                socket.send(body)
            socket.send(b"")

        threading.Thread(target=answer, daemon=True).start()

    def caller(self) -> Call:
        socket = self._socket(zmq.REQ)
        socket.connect(f"ipc://{self.place}/calls.zmq")

        def call(body: bytes) -> bytes:
            socket.send(body)
            return socket.recv()

        return call


TRANSPORTS = {"pyzmq-req-rep": ReqRep}
