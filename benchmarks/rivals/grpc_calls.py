# SPDX-License-Identifier: Apache-2.0
"""gRPC over a Unix socket: a unary call with plain bytes, so that nothing is encoded: its fastest."""

from concurrent.futures import ThreadPoolExecutor

import grpc

from slipring.bench.transport import Call, Transport


class Unary(Transport):
    threads_of_its_own = True

    def serve(self) -> None:
        handler = grpc.method_handlers_generic_handler(
            "bench", {"echo": grpc.unary_unary_rpc_method_handler(lambda body, context: body)}
        )
        self.server = grpc.server(ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers((handler,))
        self.server.add_insecure_port(f"unix:{self.place}/calls.grpc")
        self.server.start()

    def caller(self) -> Call:
        self.channel = grpc.insecure_channel(f"unix:{self.place}/calls.grpc")
        return self.channel.unary_unary("/bench/echo")


TRANSPORTS = {"grpc": Unary}
