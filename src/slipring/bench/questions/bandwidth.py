# SPDX-License-Identifier: Apache-2.0
"""How fast does this machine copy memory, in its cache and out of it? No transport copies a large body faster.

The fastest of many passes counts, since interruptions only add. What a call costs that copies nothing is subtracted:
a block in the cache is copied in less time than Python needs for a call.
"""

import ctypes
import mmap
from time import perf_counter_ns

from slipring.bench.case import Case
from slipring.bench.processes import Figures
from slipring.bench.transport import Transport

TITLE = "Copying memory, one processor"
FIGURE = "bytes_per_s"
IN_CACHE, OUT_OF_CACHE = 16 << 10, 256 << 20
PIECE = 64 << 10  # copied by one call, where that is less than the block
CALLS = 4096  # between two readings of the clock


def cases(quick: bool) -> list[Case]:
    return [Case("bandwidth", "memmove", {"size": size}) for size in (IN_CACHE, OUT_OF_CACHE)]


def measure(kind: type[Transport], case: Case, place, seconds: float) -> Figures:
    size = case.settings["size"]
    source, target = _pages(size), _pages(size)
    piece = min(size, PIECE)
    offsets = [at % size for at in range(0, CALLS * piece, piece)]

    def copy(count: int) -> int:
        """Copy so many bytes at each offset; the ns it took."""
        to, start, memmove = ctypes.addressof(target), ctypes.addressof(source), ctypes.memmove
        begun = perf_counter_ns()
        for at in offsets:
            memmove(to + at, start + at, count)
        return perf_counter_ns() - begun

    end = perf_counter_ns() + seconds * 1e9
    copying, calling = copy(piece), copy(0)
    while perf_counter_ns() < end:
        copying, calling = min(copying, copy(piece)), min(calling, copy(0))
    return {FIGURE: piece * CALLS * 1e9 / max(copying - calling, 1)}


def _pages(size: int) -> ctypes.Array[ctypes.c_char]:
    """Memory of whole pages, all of them written once."""
    memory = (ctypes.c_char * size).from_buffer(mmap.mmap(-1, size))
    ctypes.memset(memory, 1, size)
    return memory


TRANSPORTS = {"memmove": Transport}
