# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.spark`: measure topics in Spark beside Spark's own files and sources, print tables, keep the
samples and a picture of them."""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, one round: about three minutes")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (5), after one that does not count")
    parser.add_argument("--seconds", type=float, help="length of each recording (15); 0: none")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    # numpy's threads would spin beside Spark's.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    import slipring.spark
    from benchmarks.spark import picture, run, table
    from slipring.bench.runner import document_text

    plan = run.QUICK if chosen.quick else run.FULL
    plan = replace(
        plan,
        rounds=plan.rounds if chosen.rounds is None else chosen.rounds,
        recording_s=plan.recording_s if chosen.seconds is None else chosen.seconds,
    )
    spark = slipring.spark.session("benchmarks", master="local[2,4]", **{"spark.driver.memory": "4g"})
    with (
        tempfile.TemporaryDirectory(prefix="srb-spark-", dir="/dev/shm") as root,
        tempfile.TemporaryDirectory(prefix="srb-spark-") as files,
    ):
        kept = run.measure(spark, plan, Path(root), Path(files))
    spark.stop()
    chosen.out.mkdir(parents=True, exist_ok=True)
    # The targets are judged by spark.json: a quick run leaves it alone.
    samples = chosen.out / ("spark-quick.json" if plan.quick else "spark.json")
    samples.write_text(document_text(kept))
    table.show(kept)
    picture.draw(kept, samples.with_suffix(".png"))
    print(f"samples: {samples}, picture: {samples.with_suffix('.png')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
