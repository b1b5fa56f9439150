# SPDX-License-Identifier: Apache-2.0
"""Where each measured transport lives and which package it needs (None: the standard library)."""

from importlib import import_module
from typing import NamedTuple

from slipring.bench.floors import PROGRAMS
from slipring.bench.transport import Transport


class Home(NamedTuple):
    module: str
    package: str | None
    also: str | None = None  # a further package, which one of our extras brings
    polls: bool = False  # asks again and again instead of sleeping


HOMES = {
    "slipring": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-one-writer": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-sleeping": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-footprint": Home("slipring.bench.ours.footprint", "slipring"),
    "slipring-footprint-fitted": Home("slipring.bench.ours.footprint", "slipring"),
    "slipring-footprint-smallest": Home("slipring.bench.ours.footprint", "slipring"),
    "slipring-in-place": Home("slipring.bench.ours.in_place", "slipring"),
    "slipring-into": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-arrow": Home("slipring.bench.ours.topics", "slipring", "pyarrow"),
    "slipring-lossy": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-lists": Home("slipring.bench.ours.topics", "slipring"),
    "slipring-calls": Home("slipring.bench.ours.calls", "slipring", "msgspec"),
    "slipring-calls-raw": Home("slipring.bench.ours.calls", "slipring"),
    "slipring-calls-async": Home("slipring.bench.ours.calls", "slipring", "msgspec"),
    "pyzmq-req-rep": Home("slipring.bench.rivals.zeromq_calls", "pyzmq"),
    "grpc": Home("slipring.bench.rivals.grpc_calls", "grpcio"),
    "slipring-frames": Home("slipring.bench.ours.frames", "slipring", "numpy"),
    "slipring-frames-polled": Home("slipring.bench.ours.frames", "slipring", "numpy"),
    "slipring-cells": Home("slipring.bench.ours.cells", "slipring"),
    "slipring-cells-in-place": Home("slipring.bench.ours.cells", "slipring"),
    "mp-array": Home("slipring.bench.rivals.multiprocessing_array", None),
    "pyzmq": Home("slipring.bench.rivals.zeromq", "pyzmq"),
    "pyzmq-default": Home("slipring.bench.rivals.zeromq", "pyzmq"),
    "pyzmq-multipart": Home("slipring.bench.rivals.zeromq", "pyzmq"),
    "pyzmq-pubsub": Home("slipring.bench.rivals.zeromq_pubsub", "pyzmq"),
    "zmq-asyncio": Home("slipring.bench.rivals.zeromq_asyncio", "pyzmq"),
    "zmq-pub-sub": Home("slipring.bench.rivals.zeromq_pubsub", "pyzmq"),
    "iceoryx2": Home("slipring.bench.rivals.iceoryx", "iceoryx2", polls=True),
    "iceoryx2-event": Home("slipring.bench.rivals.iceoryx", "iceoryx2"),
    "iceoryx2-overflow": Home("slipring.bench.rivals.iceoryx", "iceoryx2"),
    "iceoryx2-in-place": Home("slipring.bench.rivals.iceoryx_in_place", "iceoryx2", polls=True),
    "iceoryx2-footprint": Home("slipring.bench.rivals.iceoryx_footprint", "iceoryx2"),
    "iceoryx2-fan-out": Home("slipring.bench.rivals.iceoryx_fan_out", "iceoryx2", polls=True),
    "iceoryx2-frames": Home("slipring.bench.rivals.iceoryx_frames", "iceoryx2", polls=True),
    "iceoryx2-frames-kept": Home("slipring.bench.rivals.iceoryx_frames", "iceoryx2", polls=True),
    "unix-socket": Home("slipring.bench.rivals.unix_socket", None),
    "unix-socket-into": Home("slipring.bench.rivals.unix_socket", None),
    "asyncio-streams": Home("slipring.bench.rivals.asyncio_streams", None),
    "redis-pub-sub": Home("slipring.bench.rivals.redis_pubsub", "redis"),
    "redis-pipelined": Home("slipring.bench.rivals.redis_pubsub", "redis"),
    "posix-mq": Home("slipring.bench.rivals.posix_queue", "posix-ipc"),
    "mp-queue": Home("slipring.bench.rivals.multiprocessing_queue", None),
    "mp-pipe": Home("slipring.bench.rivals.multiprocessing_pipe", None),
    "faster-fifo": Home("slipring.bench.rivals.fasterfifo", "faster-fifo"),
    "msgq": Home("slipring.bench.rivals.msgq_ring", "msgq-ipc"),
    "zenoh": Home("slipring.bench.rivals.zenoh_peer", "eclipse-zenoh"),
    "pynng": Home("slipring.bench.rivals.nng", "pynng"),
}


def package_of(name: str) -> str | None:
    return HOMES[name].package


def is_floor(name: str) -> bool:
    return name in PROGRAMS


def is_ours(name: str) -> bool:
    return not is_floor(name) and HOMES[name].package == "slipring"


def is_rival(name: str) -> bool:
    return not is_floor(name) and not is_ours(name)


def kind_of(name: str) -> str:
    return "floor" if is_floor(name) else "ours" if is_ours(name) else "rival"


def transport_class(name: str) -> type[Transport]:
    return import_module(HOMES[name].module).TRANSPORTS[name]
