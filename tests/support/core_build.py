# SPDX-License-Identifier: Apache-2.0
"""Build test programs of the core on demand in a variant of tools/build-core.sh.

program(variant, name)        path of a program, up to date with the sources
tests(variant)                every run of a program in that variant, longest first
run(test, scale)              runs one of them
package_environment(variant)  environment in which the Python package of a variant is imported
"""

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BUILDS = REPOSITORY / "build-core"


@dataclass(frozen=True)
class Test:
    name: str
    target: str
    arguments: tuple[str, ...]
    variant: str
    suite: str
    priority: int


def build(variant: str, *targets: str) -> Path:
    """Build these targets of a variant, or all. Return its build directory."""
    command = ["sh", str(REPOSITORY / "tools/build-core.sh"), variant, *targets]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return BUILDS / variant


@cache
def program(variant: str, name: str) -> Path:
    described = json.loads((_configured(variant) / "meson-info/intro-targets.json").read_text())
    files = {target["name"]: Path(target["filename"][0]) for target in described}
    if name not in files:
        raise LookupError(f"variant {variant} of the core has no program {name!r}")
    build(variant, str(files[name].relative_to(BUILDS / variant)))
    return files[name]


def tests(variant: str) -> list[Test]:
    described = json.loads((_configured(variant) / "meson-info/intro-tests.json").read_text())
    found = [
        Test(
            name=test["name"],
            target=Path(test["cmd"][0]).name,
            arguments=tuple(test["cmd"][1:]),
            variant=variant,
            suite=test["suite"][0].partition(":")[2],
            priority=test["priority"],
        )
        for test in described
    ]
    return sorted(found, key=lambda test: (-test.priority, test.name))


def run(test: Test, scale: float, *arguments: str, under: tuple[str, ...] = ()) -> str:
    """Run a test. Return its output; raise if its exit code is not 0."""
    command = [*under, str(program(test.variant, test.target)), *test.arguments, *arguments]
    environment = {**os.environ, "SLIPRING_TEST_SCALE": str(scale)}
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout[-8000:]}"
    return done.stdout


@cache
def package_environment(variant: str) -> dict[str, str]:
    return {"PYTHONPATH": str(build(variant) / "package")}


@cache
def _configured(variant: str) -> Path:
    return build(variant, "build.ninja")
