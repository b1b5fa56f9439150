# SPDX-License-Identifier: Apache-2.0
"""All that is measured in a checkout: the package's questions and further ones; Slipring, rivals and C programs."""

from benchmarks.floors import PROGRAMS
from benchmarks.questions import (
    asyncio_recv,
    cells,
    filled_frames,
    frames,
    growth,
    memory,
    publisher_cost,
    ring_size,
    startup,
    typed,
    under_load,
    waiting,
)
from slipring.bench.suite import OURS, OWN, Home, Suite

_OURS, _OURS_TYPED, _RIVALS = "benchmarks.ours", "benchmarks.ours_typed", "benchmarks.rivals"
_ZEROMQ, _ICEORYX = f"{_RIVALS}.zeromq", f"{_RIVALS}.iceoryx"
_STANDARD, _SOCKET, _REDIS = (
    f"{_RIVALS}.{name}" for name in ("standard_library", "unix_socket", "redis_pubsub")
)

ALL = Suite(
    {
        **OWN.questions,
        "under_load": under_load,
        "asyncio": asyncio_recv,
        "waiting": waiting,
        "cells": cells,
        "publisher_cost": publisher_cost,
        "ring_size": ring_size,
        "growth": growth,
        "memory": memory,
        "startup": startup,
        "frames": frames,
        "filled_frames": filled_frames,
        "typed": typed,
    },
    {
        **OWN.homes,
        "slipring-footprint": Home(_OURS, OURS),
        "slipring-footprint-fitted": Home(_OURS, OURS),
        "slipring-footprint-smallest": Home(_OURS, OURS),
        "slipring-frames": Home(_OURS, OURS, "numpy"),
        "slipring-frames-polled": Home(_OURS, OURS, "numpy"),
        "slipring-cells": Home(_OURS, OURS),
        "slipring-cells-in-place": Home(_OURS, OURS),
        "slipring-values": Home(_OURS_TYPED, OURS),
        "slipring-by-hand": Home(_OURS_TYPED, OURS),
        "slipring-loans": Home(_OURS_TYPED, OURS),
        "slipring-columns": Home(_OURS_TYPED, OURS),
        "msgspec": Home(f"{_RIVALS}.msgspec_alone", "msgspec"),
        "pyzmq": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-default": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-multipart": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-values": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-arrays": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-pubsub": Home(_ZEROMQ, "pyzmq"),
        "pyzmq-req-rep": Home(_ZEROMQ, "pyzmq"),
        "zmq-asyncio": Home(_ZEROMQ, "pyzmq"),
        "zmq-pub-sub": Home(_ZEROMQ, "pyzmq"),
        "iceoryx2": Home(_ICEORYX, "iceoryx2", polls=True),
        "iceoryx2-event": Home(_ICEORYX, "iceoryx2"),
        "iceoryx2-overflow": Home(_ICEORYX, "iceoryx2"),
        "iceoryx2-in-place": Home(_ICEORYX, "iceoryx2", polls=True),
        "iceoryx2-footprint": Home(_ICEORYX, "iceoryx2"),
        "iceoryx2-fan-out": Home(_ICEORYX, "iceoryx2", polls=True),
        "iceoryx2-frames": Home(_ICEORYX, "iceoryx2", polls=True),
        "iceoryx2-ctypes": Home(_ICEORYX, "iceoryx2", polls=True),
        "iceoryx2-frames-kept": Home(_ICEORYX, "iceoryx2", polls=True),
        "unix-socket": Home(_SOCKET, None),
        "unix-socket-into": Home(_SOCKET, None),
        "asyncio-streams": Home(_STANDARD, None),
        "mp-array": Home(_STANDARD, None),
        "mp-pipe": Home(_STANDARD, None),
        "mp-queue": Home(_STANDARD, None),
        "redis-pub-sub": Home(_REDIS, "redis"),
        "redis-pipelined": Home(_REDIS, "redis"),
        "grpc": Home(f"{_RIVALS}.grpc_calls", "grpcio"),
        "posix-mq": Home(f"{_RIVALS}.posix_queue", "posix-ipc"),
        "faster-fifo": Home(f"{_RIVALS}.fasterfifo", "faster-fifo"),
        "msgq": Home(f"{_RIVALS}.msgq_ring", "msgq-ipc"),
        "zenoh": Home(f"{_RIVALS}.zenoh_peer", "eclipse-zenoh"),
        "pynng": Home(f"{_RIVALS}.nng", "pynng"),
    },
)


def is_floor(name: str) -> bool:
    """A program of C; c-memcpy is one of older runs."""
    return name in PROGRAMS or name == "c-memcpy"


def is_rival(name: str) -> bool:
    return not is_floor(name) and not ALL.is_ours(name)


def kind_of(name: str) -> str:
    return "floor" if is_floor(name) else "ours" if ALL.is_ours(name) else "rival"
