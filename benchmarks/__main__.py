# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks``: measure Slipring beside its rivals, print tables, keep samples, draw the plot."""

import argparse
import importlib.util
import json
import signal
import sys
import time
from pathlib import Path

from benchmarks import machine, plot, report, rivals_venv, rounds
from benchmarks.case import Case
from benchmarks.questions import QUESTIONS
from benchmarks.rivals import is_ours

RESULTS = Path(__file__).parent / "results"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="main rivals, two rounds, under 90 seconds")
    parser.add_argument(
        "--only", choices=QUESTIONS, action="append", help="ask this question only (repeatable)"
    )
    parser.add_argument("--rounds", type=int, help="interleaved rounds of samples (default 5, quick 2)")
    parser.add_argument(
        "--seconds", type=float, help="length of one measured phase (default 0.25, quick 0.15)"
    )
    parser.add_argument("--limit", type=float, help="seconds for all rounds (default 300, quick 75)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the samples and the plot")
    chosen = parser.parse_args()
    chosen.rounds = chosen.rounds or (2 if chosen.quick else 5)
    chosen.seconds = chosen.seconds or (0.15 if chosen.quick else 0.25)
    chosen.limit = chosen.limit or (75 if chosen.quick else 300)
    return chosen


def take_all(chosen: argparse.Namespace) -> list[dict]:
    begun = time.monotonic()

    def announce(turn: int, case: Case) -> None:
        elapsed = time.monotonic() - begun
        text = f"{elapsed:4.0f} s  round {turn + 1}/{chosen.rounds}  {case.question}: {case.key}"
        if sys.stderr.isatty():
            print(f"\r{text:<100.100}", end="", file=sys.stderr, flush=True)

    cases = [
        case for question in chosen.only or QUESTIONS for case in QUESTIONS[question].cases(chosen.quick)
    ]
    print(f"{len(cases)} cases, up to {chosen.rounds} rounds, up to {chosen.limit:.0f} s", flush=True)
    return rounds.take(cases, chosen.rounds, chosen.seconds, chosen.limit, announce)


def main() -> int:
    chosen = arguments()
    # Ended from outside, the run still removes what it made.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    if importlib.util.find_spec("slipring") is None:
        print(
            "slipring is not installed for this Python: run `make setup`, then `make bench`", file=sys.stderr
        )
        return 2
    missing = rivals_venv.make()
    described = machine.describe()
    samples = take_all(chosen)
    name = "-".join(["quick" if chosen.quick else "full", *(chosen.only or [])])
    chosen.out.mkdir(parents=True, exist_ok=True)
    kept = chosen.out / f"{name}.json"
    run = {"machine": described, "missing": missing, "samples": samples}
    kept.write_text(json.dumps(run, indent=1) + "\n")
    report.show(samples)
    print(f"\nsamples: {kept}")
    plot.draw_if_possible(kept)
    failed = [sample for sample in samples if "error" in sample and is_ours(sample["transport"])]
    for text in dict.fromkeys(f"{each['question']}: {each['case']}: {each['error']}" for each in failed):
        print("FAILED", text, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
