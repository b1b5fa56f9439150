# SPDX-License-Identifier: Apache-2.0
"""Bounds checks taken away on purpose, in a copy of the sources: the fuzz suite must notice each."""

import shutil
import tempfile
import tomllib
from pathlib import Path

from fuzz import building


def listed() -> list[dict]:
    return tomllib.loads((Path(__file__).parent / "defects.toml").read_text())["defect"]


def build(defect: dict) -> Path:
    """The defect's target over a core that has it."""
    with tempfile.TemporaryDirectory(prefix="slipring-fuzz-") as room:
        copy = Path(room) / "src"
        shutil.copytree(building.SOURCES, copy)
        place = copy / Path(defect["file"]).name
        text = place.read_text()
        if text.count(defect["before"]) != 1:
            raise LookupError(f"{defect['file']} has no single {defect['before']!r} any more")
        place.write_text(text.replace(defect["before"], defect["after"]))
        if defect["target"] == "faults":
            return building.build_injector(copy, defect["name"])
        if defect["target"] == "clock":
            return building.build_clock(copy, defect["name"])
        return building.build(defect["target"], copy, defect["name"])
