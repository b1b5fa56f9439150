# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.spark`: measure topics in Spark beside Spark's own files, print tables, keep the samples."""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import machine
from benchmarks.spark import paths, rows, streams, table

RESULTS = Path(__file__).parents[1] / "results"
COUNTS = {64: 2_000_000, 1024: 400_000}
RATES = {64: 1_000_000, 1024: 500_000}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=5, help="interleaved rounds (5), after one that does not count"
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="length of each recording (15); 0: none")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    # numpy's threads would spin beside Spark's.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import slipring.spark

    spark = slipring.spark.session("benchmarks", master="local[2,4]", **{"spark.driver.memory": "4g"})
    run: dict = {"machine": machine.describe(), "rates": {}, "began": time.time()}
    with (
        tempfile.TemporaryDirectory(prefix="srb-spark-", dir="/dev/shm") as root,
        tempfile.TemporaryDirectory(prefix="srb-spark-") as files,
    ):
        for size, count in COUNTS.items():
            made = rows.make(spark, size, count, Path(root), Path(files))
            rates: dict[str, list[float]] = {path: [] for path in paths.PATHS}
            for turn in range(chosen.rounds + 1):
                for path in paths.PATHS:
                    rate = paths.rate(path, spark, made)
                    print(
                        f"{size} B, round {turn}: {path} {rate / 1e6:.2f} M rows/s",
                        file=sys.stderr,
                        flush=True,
                    )
                    if turn:
                        rates[path].append(rate)
            run["rates"][str(size)] = rates
        run["micro_batch_s"] = streams.micro_batch_s(spark, Path(root), Path(files))
        if chosen.seconds:
            run["recording"] = {
                str(size): streams.recording(spark, Path(root), Path(files), size, rate, chosen.seconds)
                for size, rate in RATES.items()
            }
    spark.stop()
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "spark.json").write_text(json.dumps(run, indent=1) + "\n")
    table.show(run)
    print(f"samples: {chosen.out / 'spark.json'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
