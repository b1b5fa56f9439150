# SPDX-License-Identifier: Apache-2.0
"""How fast does this machine copy memory, in its cache and out of it? The floor under every copy of a large body."""

from slipring.bench.case import Case

TITLE = "Copying memory, one processor"
FIGURE = "bytes_per_s"
IN_CACHE, OUT_OF_CACHE = 16 << 10, 256 << 20


def cases(quick: bool) -> list[Case]:
    return [Case("bandwidth", "c-memcpy", {"size": size}) for size in (IN_CACHE, OUT_OF_CACHE)]
