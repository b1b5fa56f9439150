# SPDX-License-Identifier: Apache-2.0
"""Takes one sample in a fresh process, as slipring.bench.sample does, of everything that a checkout measures."""

import sys

from benchmarks.suite import ALL
from slipring.bench.sample import main

if __name__ == "__main__":
    main(ALL, *sys.argv[1:])
