# SPDX-License-Identifier: Apache-2.0
"""Where each measured transport lives and which package it needs (None: the standard library)."""

from importlib import import_module
from typing import NamedTuple

from benchmarks.transport import Transport


class Home(NamedTuple):
    module: str
    package: str | None


HOMES = {
    "slipring": Home("benchmarks.ours", "slipring"),
    "slipring-one-writer": Home("benchmarks.ours", "slipring"),
    "slipring-sleeping": Home("benchmarks.ours", "slipring"),
    "slipring-arrow": Home("benchmarks.ours", "slipring"),
    "slipring-lossy": Home("benchmarks.ours", "slipring"),
    "slipring-lists": Home("benchmarks.ours", "slipring"),
    "slipring-calls": Home("benchmarks.ours_calls", "slipring"),
    "slipring-calls-raw": Home("benchmarks.ours_calls", "slipring"),
    "slipring-calls-async": Home("benchmarks.ours_calls", "slipring"),
    "pyzmq-req-rep": Home("benchmarks.rivals.zeromq_calls", "pyzmq"),
    "grpc": Home("benchmarks.rivals.grpc_calls", "grpcio"),
    "slipring-cells": Home("benchmarks.ours_cells", "slipring"),
    "slipring-cells-in-place": Home("benchmarks.ours_cells", "slipring"),
    "mp-array": Home("benchmarks.rivals.multiprocessing_array", None),
    "pyzmq": Home("benchmarks.rivals.zeromq", "pyzmq"),
    "pyzmq-default": Home("benchmarks.rivals.zeromq", "pyzmq"),
    "pyzmq-multipart": Home("benchmarks.rivals.zeromq", "pyzmq"),
    "pyzmq-pubsub": Home("benchmarks.rivals.zeromq", "pyzmq"),
    "iceoryx2": Home("benchmarks.rivals.iceoryx", "iceoryx2"),
    "iceoryx2-event": Home("benchmarks.rivals.iceoryx", "iceoryx2"),
    "iceoryx2-overflow": Home("benchmarks.rivals.iceoryx", "iceoryx2"),
    "unix-socket": Home("benchmarks.rivals.unix_socket", None),
    "mp-queue": Home("benchmarks.rivals.multiprocessing_queue", None),
    "mp-pipe": Home("benchmarks.rivals.multiprocessing_pipe", None),
    "faster-fifo": Home("benchmarks.rivals.fasterfifo", "faster-fifo"),
    "msgq": Home("benchmarks.rivals.msgq_ring", "msgq-ipc"),
    "zenoh": Home("benchmarks.rivals.zenoh_peer", "eclipse-zenoh"),
    "pynng": Home("benchmarks.rivals.nng", "pynng"),
}


def package_of(name: str) -> str | None:
    return HOMES[name].package


def is_ours(name: str) -> bool:
    return HOMES[name].package == "slipring"


def transport_class(name: str) -> type[Transport]:
    return import_module(HOMES[name].module).TRANSPORTS[name]
