# SPDX-License-Identifier: Apache-2.0
"""`python -m demo`: run the robot, audit the run, write the page. Exit code 0 only if every claim passes."""

import argparse
import random
import sys
import time
from pathlib import Path

from demo import audit, interruption, robot, summary
from demo.evidence import STALLED_S
from demo.page import document
from demo.run import Run
from demo.spark import examination
from storm.audit import Claim

_INTERRUPTED = 130


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=25.0, help="time during which processes are killed and stopped (25)"
    )
    parser.add_argument(
        "--seed", type=int, default=None, help="seed of the chosen processes and times (random)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo-report"),
        help="directory of the pages and the recording (demo-report)",
    )
    parser.add_argument("--without-spark", action="store_true", help="run the robot without a recording")
    parser.add_argument(
        "--stalled-after",
        type=float,
        default=STALLED_S,
        metavar="SECONDS",
        help="the audit fails if a process makes no progress for this time after a kill (5)",
    )
    arguments = parser.parse_args()
    if not 1 <= arguments.seconds <= 3600:
        parser.error("--seconds must be between 1 and 3600")
    return arguments


def main() -> int:
    arguments = _arguments()
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    interruption.catch_signals()
    print(
        f"Slipring demo: {len(robot.COMPONENTS)} processes, killed and stopped at random for {arguments.seconds:g} s; "
        f"seed {seed}",
        flush=True,
    )
    spark = None if arguments.without_spark else examination.cleared(arguments.out)
    added: list[Claim] = []
    try:
        with Run(arguments.seconds, seed, spark, arguments.stalled_after) as run:
            run.play()
            evidence = run.collect()
        if run.pipeline is not None:
            added = examination.examine(run.pipeline, run.counters, arguments.out)
    except interruption.Interrupted:
        print("interrupted: all processes have ended, and no files are left", file=sys.stderr)
        return _INTERRUPTED
    claims = [*audit.examine(evidence), *added]
    arguments.out.mkdir(parents=True, exist_ok=True)
    page = arguments.out / "report.html"
    again = f"python -m demo --seconds {arguments.seconds:g} --seed {seed}"
    again += " --without-spark" if arguments.without_spark else ""
    page.write_text(document.render(evidence, claims, again, time.time()))
    passed = all(claim.passed for claim in claims)
    summary.write_json(arguments.out / "summary.json", claims, {"seed": seed, "passed": passed})
    summary.show(claims)
    if not arguments.without_spark:
        examination.print_paths(arguments.out)
    print(f"{'PASS' if passed else 'FAIL'}: the page of the audit is {page.resolve()}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
