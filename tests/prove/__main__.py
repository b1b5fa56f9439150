# SPDX-License-Identifier: Apache-2.0
"""``PYTHONPATH=tests python -m prove [PART…]``: prove the parts whose sources have changed.

A part that passes is recorded at once, so an interrupted run continues with the next part. A part that failed continues
with the tests that have not passed with the same sources. --again also runs parts that are proven already. --check runs
nothing; it lists the parts that are not proven, and fails if there are any.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prove import record
from prove.sources import REPOSITORY

JOBS = 2
TESTS = Path(__file__).resolve().parents[1]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m prove", description=__doc__)
    known = {part.name: part for part in record.parts()}
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(known)}; default: all")
    parser.add_argument("--again", action="store_true", help="also what is proven already")
    parser.add_argument("--check", action="store_true", help="run nothing; fail if something is not proven")
    parser.add_argument("--jobs", type=int, default=JOBS, help="how many tests at a time")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.parts if name not in known]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}; allowed: {', '.join(known)}")
    open_parts = record.unproven()
    if asked.check:
        return check(open_parts)
    chosen = [known[name] for name in asked.parts] if asked.parts else list(known.values())
    failed = [
        part.name for part in chosen if (asked.again or part in open_parts) and not prove(part, asked.jobs)
    ]
    left = [part.name for part in chosen if part in record.unproven()]
    for proof in record.proofs().values():
        print(f"{proof.part:12} {proof.passed:5} tests  {proof.seconds:5} s  {proof.date}  {counts(proof)}")
    if failed or left:
        print(f"prove: NOT proven: {', '.join(failed or left)}", file=sys.stderr)
        return 1
    print(
        f"prove: all of {', '.join(part.name for part in chosen)} is proven ({record.FILE.relative_to(REPOSITORY)})"
    )
    return 0


def check(open_parts: list[record.Part]) -> int:
    if not open_parts:
        return 0
    names = " ".join(part.name for part in open_parts)
    print(
        f"prove: the sources of these parts have changed since they were proven: {names}\n"
        f'Run: make prove      (or in parts: make prove PARTS="{names}"), then commit '
        f"{record.FILE.relative_to(REPOSITORY)}",
        file=sys.stderr,
    )
    return 1


def prove(part: record.Part, jobs: int) -> bool:
    """Run the tests of a part that have not passed with these sources. Return whether all have passed."""
    print(f"\nprove: {part.name}: {part.claim}", flush=True)
    before = part.hash
    earlier = record.Passed.load(part, before)
    if earlier.tests:
        print(
            f"prove: {part.name}: {len(earlier.tests)} tests have passed with these sources before",
            flush=True,
        )
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="slipring-prove-") as place:
        junit, known = Path(place) / "junit.xml", Path(place) / "passed"
        known.write_text("\n".join(earlier.tests))
        settings = {"SLIPRING_PASSED": str(known), "PYTHONPATH": str(TESTS), **part.environment}
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(part.jobs or jobs), "--dist", "worksteal"]
        command += [f"--junitxml={junit}", "-o", "junit_family=xunit1", "-p", "prove.resume", *part.tests]
        done = subprocess.run(command, cwd=REPOSITORY, env={**os.environ, **settings})
        if not junit.exists():
            return False
        passed, skipped = earlier.added(junit, time.monotonic() - begun), record.skipped(junit)
    if part.hash != before:
        print(f"prove: {part.name}: the sources changed during the run; it is not recorded", file=sys.stderr)
        return False
    passed.store()
    if skipped:
        print(f"prove: {part.name}: skipped, so not proven: {', '.join(skipped)}", file=sys.stderr)
    if done.returncode or skipped:
        return False
    record.store(record.made(part, passed))
    return True


def counts(proof: record.Proof) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in proof.counts.items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
