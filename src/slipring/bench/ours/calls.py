# SPDX-License-Identifier: Apache-2.0
"""Slipring's calls as they are measured: a server with one worker, a client, msgpack unless told."""

import asyncio
from typing import Any

import slipring
from slipring.bench.transport import Call, Transport


class Calls(Transport):
    codec = "msgpack"

    def _open(self) -> slipring.Bus:
        self.bus = slipring.Bus("bench", root=self.place)
        return self.bus

    def serve(self) -> None:
        self.server = self._open().server("bench", codec=self.codec)
        self.server.method(lambda body: body, name="echo")
        self.server.start()

    def caller(self) -> Call:
        client = self._open().client("bench", codec=self.codec)
        return lambda body: client.call("echo", body)

    def close(self) -> None:
        self.bus.close()


class Raw(Calls):
    codec = "raw"


class Async(Calls):
    """A task that awaits each answer before it asks again; the loop is part of the price."""

    def caller(self) -> Call:
        client = self._open().client("bench")
        loop = asyncio.new_event_loop()

        def call(body: bytes) -> Any:
            return loop.run_until_complete(client.acall("echo", body))

        return call


TRANSPORTS = {"slipring-calls": Calls, "slipring-calls-raw": Raw, "slipring-calls-async": Async}
