# SPDX-License-Identifier: Apache-2.0
"""docs/reliability/proof.json: one line a part, written when all of its tests have passed."""

import datetime
import json
import platform
import subprocess
import tomllib
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from prove.sources import REPOSITORY, hash_of

FILE = REPOSITORY / "docs/reliability/proof.json"
PARTS = Path(__file__).parent / "parts.toml"


@dataclass(frozen=True)
class Part:
    name: str
    says: str
    tests: list[str]
    sources: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    jobs: int | None = None

    @property
    def hash(self) -> str:
        return hash_of(self.sources)


@dataclass(frozen=True)
class Proof:
    part: str
    hash: str
    passed: int
    seconds: int
    date: str
    compiler: str
    machine: str
    counts: dict[str, int]


def parts() -> list[Part]:
    described = tomllib.loads(PARTS.read_text())
    groups = described["groups"]
    return [
        Part(**{**one, "sources": [glob for name in one["sources"] for glob in groups.get(name, [name])]})
        for one in described["part"]
    ]


def proofs() -> dict[str, Proof]:
    if not FILE.exists():
        return {}
    return {line["part"]: Proof(**line) for line in json.loads(FILE.read_text())}


def unproven() -> list[Part]:
    known = {name: proof.hash for name, proof in proofs().items()}
    return [part for part in parts() if known.get(part.name) != part.hash]


def made(part: Part, hash_before: str, junit: Path, seconds: float) -> Proof:
    """The proof that a run of pytest without failures is."""
    cases = list(ElementTree.parse(junit).iter("testcase"))
    skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
    if skipped or not cases:
        raise RuntimeError(f"{part.name}: {len(cases)} tests, of which were skipped: {skipped}")
    counts: Counter[str] = Counter()
    for case in cases:
        for one in case.iter("property"):
            counts[one.get("name", "")] += int(one.get("value", "0"))
    return Proof(
        part=part.name,
        hash=hash_before,
        passed=len(cases),
        seconds=round(seconds),
        date=datetime.date.today().isoformat(),
        compiler=_first_line("gcc", "--version"),
        machine=f"{platform.machine()} Linux {platform.release()}",
        counts=dict(sorted(counts.items())),
    )


def store(proof: Proof) -> None:
    known = {**proofs(), proof.part: proof}
    lines = [json.dumps(asdict(known[part.name])) for part in parts() if part.name in known]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


def _first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
