# SPDX-License-Identifier: Apache-2.0
"""``python tests/mutants [WORD…]``: take the code behind each promise away and see that its tests notice.

Works on a copy of the sources, with a build of its own; nothing in the repository is touched. WORD
selects mutants by promise number or by a part of their name. Exit code 1 if one survives or fits no more.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE_S = 300  # a test that hangs has noticed, too
NOT_RUN = (2, 4, 5)  # of pytest's exit codes: interrupted while collecting, wrong usage, no tests


def listed() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"]


class Copy:
    """The sources, mutated one at a time, and the package built from them."""

    def __init__(self, place: Path) -> None:
        self.tree, self.build, self.package = place / "tree", place / "build", place / "package"
        self.tree.mkdir()
        for part in ("core", "src"):
            shutil.copytree(REPOSITORY / part, self.tree / part)
        for part in ("meson.build", "meson.options"):
            shutil.copy2(REPOSITORY / part, self.tree / part)
        tool("meson", "setup", str(self.build), str(self.tree), "-Dbuildtype=release")

    def compile(self) -> None:
        tool("ninja", "-C", str(self.build))
        shutil.rmtree(self.package, ignore_errors=True)
        hidden = shutil.ignore_patterns("_native", "__pycache__")
        shutil.copytree(self.tree / "src/slipring", self.package / "slipring", ignore=hidden)
        for library in (self.build / "src/slipring").glob("_native*.so"):
            shutil.copy2(library, self.package / "slipring")

    def edit(self, changes: list[list[str]]) -> dict[Path, str]:
        originals: dict[Path, str] = {}
        for name, before, after in changes:
            path = self.tree / name
            text = path.read_text()
            originals.setdefault(path, text)
            if before not in text:
                raise LookupError(f"{name} has no {before!r} any more")
            path.write_text(text.replace(before, after))
        return originals


def tool(*command: str) -> None:
    path = f"{REPOSITORY}/.venv/bin:{os.environ['PATH']}"
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def noticed_by(copy: Copy, tests: str) -> str:
    """The first test that fails; empty if all pass."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy.package),
        # The repository's own build stands aside: the mutant is what must be imported.
        "MESONPY_EDITABLE_SKIP": str(REPOSITORY / "build/cp311"),
        "SLIPRING_STEP_TRIALS": "600",
    }
    options = ["-p", "no:cacheprovider", "-q", "-x", "--tb=no", "--timeout=60"]
    command = [sys.executable, "-m", "pytest", *options, *(f"tests/{test}" for test in tests.split())]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=PATIENCE_S
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
