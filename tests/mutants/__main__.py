# SPDX-License-Identifier: Apache-2.0
"""``PYTHONPATH=tests python -m mutants [WORD…]``: take the code behind each promise away and see that its tests notice.

Works on a copy of the sources, with a build of its own; nothing in the repository is touched. WORD
selects mutants by promise number or by a part of their name. Exit code 1 if one survives or fits no more.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from support.changed import REPOSITORY, Copy, environment

PATIENCE_S = 300  # a test that hangs has noticed, too
NOT_RUN = (2, 4, 5)  # of pytest's exit codes: interrupted while collecting, wrong usage, no tests


def listed() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"]


def noticed_by(copy: Copy, tests: str) -> str:
    """The first test that fails; empty if all pass."""
    settings = {**environment(copy), "SLIPRING_STEP_TRIALS": "600"}
    options = ["-p", "no:cacheprovider", "-q", "-x", "--tb=no", "--timeout=60"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests.split())]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=settings, capture_output=True, text=True, timeout=PATIENCE_S
        )
    except subprocess.TimeoutExpired:
        return "(hangs)"
    lines = done.stdout.splitlines()
    failures = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode in NOT_RUN:
        raise RuntimeError(f"{tests} did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    if done.returncode and not failures:
        return f"(pytest ends with {done.returncode})"
    return failures[0].removeprefix("FAILED ") if failures else ""


def wanted(mutant: dict, words: list[str]) -> bool:
    return not words or str(mutant["promise"]) in words or any(word in mutant["name"] for word in words)


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in listed() if wanted(mutant, words)]
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="slipring-mutants-") as place:
        copy = Copy(Path(place))
        for mutant in chosen:
            change = [mutant["file"], mutant["before"], mutant["after"]]
            originals = copy.edit([change, *mutant.get("more", [])])
            copy.compile()
            noticed = noticed_by(copy, mutant["tests"])
            for path, text in originals.items():
                path.write_text(text)
            survivors += not noticed
            print(f"{mutant['promise']:>3}  {mutant['name']}: {noticed or 'SURVIVED'}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants were noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
