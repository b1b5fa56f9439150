# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: `slipring bench` in a checkout: results and the rivals' environment stay here."""

import sys
from pathlib import Path

from slipring.cli import main

HERE = Path(__file__).parent

if __name__ == "__main__":
    given = sys.argv[1:]
    usual = [("--out", HERE / "results"), ("--cache", HERE / ".cache")]
    options = [str(word) for name, folder in usual if name not in given for word in (name, folder)]
    sys.argv[1:] = ["bench", *options, *given]
    main()
