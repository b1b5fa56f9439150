# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy in front of a server, to treat its connections badly.

proxy.address          the server's address, through here
proxy.cut()            drop all connections (reset); new ones are served
proxy.refuse() / .admit()   drop all connections and new ones / serve again
proxy.stall() / .flow()     pass nothing on, keep the connections open / pass on again: half-open peers
proxy.limit(rate)      pass on so many bytes a second, each way; None: as fast as it goes
proxy.watch            called with all that passes
proxy.garble()         send random bytes into all connections, both ways
"""

import os
import selectors
import socket
import struct
import threading
import time
from urllib.parse import urlsplit


class Proxy:
    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._target = parts.hostname, parts.port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"zmq+tcp://127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._admitting, self._stalled, self._closing = True, False, False
        self._rate: float | None = None
        self._allowed: dict[socket.socket, tuple[float, float]] = {}  # when, and how many bytes
        self.connections = 0
        self.watch = lambda data: None
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing:
            for key, _ in self._selector.select(0.02):
                with self._lock:
                    if key.fileobj is self._listener:
                        self._accept()
                    elif not self._stalled and key.fileobj in self._pairs:
                        self._pass_on(key.fileobj)
            if self._stalled or self._rate is not None:
                threading.Event().wait(0.005)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if not self._admitting:
            client.close()
            return
        try:
            server = socket.create_connection(self._target, timeout=1)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        self.connections += 1
        for one, other in ((client, server), (server, client)):
            self._pairs[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _allowance(self, one: socket.socket) -> int:
        """How many bytes may pass now."""
        if self._rate is None:
            return 1 << 16
        now = time.monotonic()
        then, left = self._allowed.get(one, (now, 0.0))
        left = min(left + (now - then) * self._rate, self._rate / 20)
        self._allowed[one] = now, left - int(left)
        return int(left)

    def _pass_on(self, one: socket.socket) -> None:
        size = self._allowance(one)
        if not size:
            return
        try:
            data = one.recv(size)
            if data:
                self.watch(data)
                self._pairs[one].sendall(data)
                return
        except OSError:
            pass
        self._drop(one)

    def _drop(self, one: socket.socket) -> None:
        other = self._pairs[one]
        for end in (one, other):
            self._selector.unregister(end)
            del self._pairs[end]
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()

    def cut(self) -> None:
        with self._lock:
            while self._pairs:
                self._drop(next(iter(self._pairs)))

    def refuse(self) -> None:
        self._admitting = False
        self.cut()

    def admit(self) -> None:
        self._admitting = True

    def limit(self, rate: float | None) -> None:
        self._rate = rate

    def stall(self) -> None:
        self._stalled = True

    def flow(self) -> None:
        self._stalled = False

    def garble(self) -> None:
        with self._lock:
            for end in list(self._pairs):
                end.sendall(os.urandom(64))

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        self.cut()
        self._listener.close()
        self._selector.close()
