# SPDX-License-Identifier: Apache-2.0
"""Run a libFuzzer target in a bus directory of its own and read its coverage.

tools/build-core.sh builds the targets: variant fuzz, and fuzz_defects with planted defects.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fuzz import corpus
from support import core_build, defects
from support.core_build import REPOSITORY
from support.patience import scaled

TARGETS = REPOSITORY / "core/tests/fuzz"
BUILD = REPOSITORY / "build-fuzz"  # failing inputs
FOUND = BUILD / "found"
HANG_S = int(scaled(20))  # one input takes milliseconds; the machine may be busy
LONGEST_INPUT = 240
GRACE_S = 300


@dataclass(frozen=True)
class Outcome:
    target: str
    executions: int
    edges: int
    features: int
    failure: str  # end of the log, with the input; empty without a failure

    def __str__(self) -> str:
        reached = f"{self.edges} edges, {self.features} features"
        return f"{self.target}: {self.executions} executions, {reached}{', FAILED' if self.failure else ''}"


def targets() -> list[str]:
    texts = {path.stem: path.read_text() for path in TARGETS.glob("*.c")}
    return sorted(name for name, text in texts.items() if "LLVMFuzzerTestOneInput" in text)


def program(target: str) -> Path:
    return core_build.program("fuzz", f"fuzz_{target}")


def run(
    program: Path,
    target: str,
    *,
    seconds: int,
    fresh: Path | None = None,
    hang_s: int = HANG_S,
    defect: str = "",
) -> Outcome:
    """Run the committed inputs, then mutations of them for so many seconds.

    ``fresh`` keeps new inputs that increase coverage. ``defect`` chooses a planted defect of the program.
    """
    with tempfile.TemporaryDirectory(prefix="slipring-fuzz-", dir="/dev/shm") as bus:
        kept = fresh or Path(bus) / "kept"
        kept.mkdir(parents=True, exist_ok=True)
        FOUND.mkdir(parents=True, exist_ok=True)
        limit = [f"-max_total_time={seconds}"] if seconds else ["-runs=0"]
        limit.append(f"-timeout={hang_s}")
        place = Path(bus) / "bus"
        place.mkdir()
        committed = corpus.unpack(corpus.load(target), Path(bus) / "corpus")
        return _outcome(target, _start(program, place, *limit, str(kept), str(committed), defect=defect))


def minimise(program: Path, target: str, *extra: Path) -> int:
    """Reduce the corpus without loss of coverage; keep named inputs. Return the number of inputs left."""
    inputs = corpus.load(target)
    named = {name: data for name, data in inputs.items() if corpus.is_named(name, data)}
    with tempfile.TemporaryDirectory(prefix="slipring-fuzz-", dir="/dev/shm") as scratch:
        chosen, bus = corpus.unpack(named, Path(scratch) / "chosen"), Path(scratch) / "bus"
        bus.mkdir()
        committed = corpus.unpack(inputs, Path(scratch) / "corpus")
        log = _start(program, bus, "-merge=1", "-use_counters=0", *map(str, (chosen, committed, *extra)))
        if log.returncode:
            raise RuntimeError(log.stdout[-3000:])
        corpus.store(target, {path.name: path.read_bytes() for path in chosen.iterdir()})
    return len(corpus.load(target))


def _start(program: Path, bus: Path, *arguments: str, defect: str = "") -> subprocess.CompletedProcess:
    environment = {
        **defects.chosen(defect),
        "SLIPRING_FUZZ_BUS": str(bus),
        "ASAN_OPTIONS": "quarantine_size_mb=8",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    options = ["-len_control=0", f"-max_len={LONGEST_INPUT}", "-print_final_stats=1"]
    prefix = f"-artifact_prefix={FOUND}/{defect or program.name}-"
    seconds = next((int(a.split("=")[1]) for a in arguments if a.startswith("-max_total_time")), 0)
    return subprocess.run(
        [program, *options, prefix, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        timeout=seconds + GRACE_S,
    )


def _outcome(target: str, done: subprocess.CompletedProcess) -> Outcome:
    log = done.stdout
    reached = re.findall(r"cov: (\d+) ft: (\d+)", log) or [("0", "0")]
    executed = re.findall(r"stat::number_of_executed_units: (\d+)", log) or re.findall(
        r"^#(\d+)\t", log, re.M
    )
    edges, features = map(int, reached[-1])
    failure = "" if done.returncode == 0 else f"exit code {done.returncode}\n{log[-4000:]}"
    return Outcome(target, int(executed[-1]) if executed else 0, edges, features, failure)
