# SPDX-License-Identifier: Apache-2.0
"""Read and write docs/reliability/proof.json: one line a part, written when all of its tests have passed."""

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
PASSED = REPOSITORY / "build-core/passed"  # of parts that are not proven yet


@dataclass(frozen=True)
class Part:
    name: str
    claim: str
    tests: list[str]
    sources: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    jobs: int | None = None

    @property
    def hash(self) -> str:
        """Hash of the sources it depends on, of its tests and of their length."""
        return hash_of(
            self.sources,
            [*self.tests, *(f"{name}={self.environment[name]}" for name in sorted(self.environment))],
        )


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


@dataclass(frozen=True)
class Passed:
    """Tests of a part that have passed with the sources of that hash, with their counts."""

    part: str
    hash: str
    tests: dict[str, dict[str, int]]
    seconds: float

    @classmethod
    def load(cls, part: Part, hash_now: str) -> "Passed":
        file = PASSED / f"{part.name}.json"
        known = cls(**json.loads(file.read_text())) if file.exists() else None
        return known if known and known.hash == hash_now else cls(part.name, hash_now, {}, 0.0)

    def added(self, junit: Path, seconds: float) -> "Passed":
        """Return this with the tests that passed in a run. A skipped test proves nothing."""
        tests = dict(self.tests)
        for case in ElementTree.parse(junit).iter("testcase"):
            if not any(case.find(kind) is not None for kind in ("failure", "error", "skipped")):
                found: Counter[str] = Counter()
                for one in case.iter("property"):
                    found[one.get("name", "")] += int(one.get("value", "0"))
                tests[f"{case.get('file')}::{case.get('name')}"] = dict(found)
        return Passed(self.part, self.hash, tests, self.seconds + seconds)

    def store(self) -> None:
        PASSED.mkdir(parents=True, exist_ok=True)
        (PASSED / f"{self.part}.json").write_text(json.dumps(asdict(self)))


def skipped(junit: Path) -> list[str]:
    cases = ElementTree.parse(junit).iter("testcase")
    return [case.get("name", "") for case in cases if case.find("skipped") is not None]


def made(part: Part, passed: Passed) -> Proof:
    """Return the record that all tests of the part have passed."""
    counts: Counter[str] = Counter()
    for found in passed.tests.values():
        counts.update(found)
    return Proof(
        part=part.name,
        hash=passed.hash,
        passed=len(passed.tests),
        seconds=round(passed.seconds),
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
