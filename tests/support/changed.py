# SPDX-License-Identifier: Apache-2.0
"""The package built from a copy of its sources, with a few words of them changed: what tests must notice."""

import os
import shutil
import subprocess
from pathlib import Path

from support.planted import importing

REPOSITORY = Path(__file__).resolve().parents[2]


class Copy:
    """The sources, mutated one at a time, and the package built from them."""

    def __init__(self, place: Path, *options: str) -> None:
        self.tree, self.build, self.package = place / "tree", place / "build", place / "package"
        self.tree.mkdir()
        for part in ("core", "src"):
            shutil.copytree(REPOSITORY / part, self.tree / part)
        for part in ("meson.build", "meson.options"):
            shutil.copy2(REPOSITORY / part, self.tree / part)
        tool("meson", "setup", str(self.build), str(self.tree), "-Dbuildtype=release", *options)

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


def environment(copy: Copy) -> dict[str, str]:
    """In which the copy's package is the one that is imported."""
    return importing(copy.package)


def tool(*command: str) -> None:
    path = f"{REPOSITORY}/.venv/bin:{os.environ['PATH']}"
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
