# SPDX-License-Identifier: Apache-2.0
"""``python tests/fuzz [--seconds N] [--target NAME [--add FILE…]] [--minimise]``: long fuzzing, all targets in turn.

Exit code 1 if a target fails; its input is in build-fuzz/found. --add commits found inputs instead of fuzzing.
--minimise adds inputs that increase coverage to the committed corpora, then reduces these to the necessary inputs."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz import corpus, counted, mutation, running


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__)
    names = [*running.targets(), *mutation.targets(), *counted.targets()]
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together")
    parser.add_argument("--target", choices=names, help="only this one")
    parser.add_argument(
        "--minimise", action="store_true", help="add what reaches more to the committed corpora"
    )
    parser.add_argument("--add", type=Path, nargs="+", default=[], metavar="FILE", help="add found inputs")
    asked = parser.parse_args(arguments)
    if asked.add and not asked.target:
        parser.error("--add requires --target")
    for found in asked.add:
        corpus.add(asked.target, found)
    if asked.add:
        return 0
    chosen = [asked.target] if asked.target else names
    failed = 0
    for name in chosen:
        failed |= one(name, max(1, asked.seconds // len(chosen)), asked.minimise)
    return failed


def one(name: str, seconds: int, minimise: bool) -> int:
    if name in (*mutation.targets(), *counted.targets()):
        outcome = (mutation if name in mutation.targets() else counted).run(name, seconds=seconds)
        print(outcome, flush=True)
        return 1 if outcome.failure else 0
    program, fresh = running.program(name), running.BUILD / "corpus" / name
    outcome = running.run(program, name, seconds=seconds, fresh=fresh)
    print(outcome, flush=True)
    if outcome.failure:
        print(outcome.failure)
        return 1
    if minimise:
        print(f"{name}: {running.minimise(program, name, fresh)} inputs in {corpus.file(name)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
