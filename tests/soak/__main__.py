# SPDX-License-Identifier: Apache-2.0
"""`python -m soak`: run the soak, audit it, write the page. Exit code 0 only if every claim passes."""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from demo import summary
from soak import audit, figures, flatness, page, plan, recording
from soak.run import Outcome, Soak
from storm.audit import Claim, judge
from storm.audit import lives as read_lives

_LONG_S = 600.0
_SLOTS_LONG, _SLOTS_SHORT = 2048, 256
_OURS = ("work", "lake", "recording.json", "recording.log", "soak.html", "soak.json", "soak.png")
_SPARE_ENTRIES = 6  # of Spark, and of processes killed since the last attach


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--out", type=Path, default=Path("soak-report"))
    parser.add_argument("--seed", type=int, default=None, help="decides who is struck (random)")
    parser.add_argument("--without-spark", action="store_true", help="no recording")
    parser.add_argument(
        "--stalled-after",
        type=float,
        default=figures.STALLED_S,
        metavar="SECONDS",
        help="a survivor that makes no progress for so long after a strike fails a claim (10)",
    )
    parser.add_argument("--keep", action="store_true", help="journals and lake stay")
    parser.add_argument(
        "--leak", action="append", default=[], metavar="ROLE=WHAT", help="planted: memory or descriptors"
    )
    return parser.parse_args()


def _about(outcome: Outcome, seed: int) -> dict[str, Any]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True
    ).stdout.strip()
    return {
        "began": page.utc(outcome.began),
        "ended": page.utc(outcome.ended),
        "hours": round((outcome.ended - outcome.began) / 3600, 4),
        "interrupted": outcome.interrupted,
        "machine": f"Linux {platform.release()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        "niceness": os.nice(0),
        "commit": commit,
        "seed": seed,
    }


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _examine_messages(out: Path, outcome: Outcome, told: dict[str, Any]) -> tuple[list[Claim], page.Losses]:
    lives = read_lives(out / "work")
    topics = audit.topics_of(lives, outcome.stats)
    claims = audit.examine(lives, topics, outcome.stats, outcome.errors)
    if outcome.recording is not None:
        lake = recording.examine(out / "lake")
        claims.append(audit.recording_adds_up(topics, outcome.stats, lake))
        told["lake"] = {
            topic: {name: held[name] for name in ("messages", "lost", "abandoned", "files", "bytes")}
            for topic, held in lake["topics"].items()
        } | {"restarts": outcome.recording_restarts}
    claims.append(judge("Nothing is left behind", outcome.left_over, "no entry, file or process"))
    told |= {"lives": len(lives), "topics": figures.topics(outcome.stats), "sizes": figures.sizes(lives)}
    return claims, figures.losses_over_time(topics[plan.LOSSY])


def _examine(out: Path, outcome: Outcome, stalled_s: float) -> tuple[list[Claim], dict[str, Any], bytes]:
    samples, gaps = (_lines(out / "work" / name) for name in ("samples.jsonl", "gaps.jsonl"))
    told: dict[str, Any] = {"kills": outcome.kills, "pauses": outcome.pauses}
    losses: page.Losses = ([], [], [])
    if outcome.failure:
        print(outcome.failure, file=sys.stderr)
        claims = [Claim("The soak came to its end", False, outcome.failure.strip().splitlines()[-1])]
    else:
        claims, losses = _examine_messages(out, outcome, told)
    claims.append(figures.survivors_went_on(gaps, stalled_s))
    claims += flatness.examine(samples, len(plan.roles(1)) + 2 + _SPARE_ENTRIES)
    if len(samples) > 1:
        told |= {
            "survivor_gap_ms": {n: figures.percentiles(v) for n, v in figures.by_survivor(gaps).items()},
            "cores_used": figures.cores(samples),
            "processes": figures.memory(samples),
        }
    told["samples"] = len(samples)
    return claims, told, page.plot(samples, gaps, losses) if samples else b""


def _run(arguments: argparse.Namespace, root: Path, seed: int) -> Outcome:
    seconds = arguments.hours * 3600
    soak = Soak(
        root,
        arguments.out,
        seconds,
        _SLOTS_LONG if seconds >= _LONG_S else _SLOTS_SHORT,
        seed,
        not arguments.without_spark,
        dict(leak.split("=") for leak in arguments.leak),
    )
    try:
        return soak.play()
    finally:
        soak.close()


def main() -> int:
    arguments = _arguments()
    seed = random.randrange(1 << 32) if arguments.seed is None else arguments.seed
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for name in _OURS:
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        (out / name).unlink(missing_ok=True)
    print(f"Slipring soak: {arguments.hours:g} h, seed {seed}, pid {os.getpid()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="slipring-soak-", dir="/dev/shm") as root:
        outcome = _run(arguments, Path(root), seed)
    print("auditing …", flush=True)
    claims, told, picture = _examine(out, outcome, arguments.stalled_after)
    about = _about(outcome, seed)
    passed = all(claim.passed for claim in claims)
    (out / "soak.png").write_bytes(picture)
    (out / "soak.html").write_text(page.render(claims, about, told, picture))
    summary.write_json(out / "soak.json", claims, {"passed": passed, **about, "figures": told})
    summary.show(claims)
    print(
        json.dumps({"cores_used": told.get("cores_used"), "kills": told["kills"], "pauses": told["pauses"]})
    )
    if passed and not arguments.keep:
        for name in ("work", "lake"):
            shutil.rmtree(out / name, ignore_errors=True)
    print(f"{'PASS' if passed else 'FAIL'}: {(out / 'soak.html').resolve()}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
