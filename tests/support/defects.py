# SPDX-License-Identifier: Apache-2.0
"""The planted defects of tests/prove/defects, and the checks that must find each.

A list is a file of [[defect]] tables. ``name`` identifies a defect, ``description`` states it, and ``found_by``
lists its checks. Defects that Python tests find also have a ``promise`` (of docs/spec/promises.md). The first
key of a check is its kind.
"""

import os
import tomllib
from dataclasses import dataclass
from functools import cache

from support.core_build import REPOSITORY

LISTS = REPOSITORY / "tests/prove/defects"


@dataclass(frozen=True)
class Defect:
    name: str
    description: str
    found_by: tuple[dict, ...]
    promise: int | None = None


@dataclass(frozen=True)
class Check:
    defect: Defect
    kind: str
    value: str  # of the kind: a scenario, a program, a list of files
    options: dict

    def __str__(self) -> str:
        return f"{self.defect.name} by {self.kind if self.kind == 'tests' else self.value}"


@cache
def listed(name: str) -> list[Defect]:
    path = LISTS / f"{name}.toml"
    tables = tomllib.loads(path.read_text())["defect"]
    defects = [Defect(**{**table, "found_by": tuple(table["found_by"])}) for table in tables]
    names = [defect.name for defect in defects]
    twice = {name for name in names if names.count(name) > 1}
    if twice or not all(defect.found_by for defect in defects):
        raise ValueError(f"{path}: {twice or 'a defect'} is listed twice or has no check")
    return defects


def checks(name: str, *kinds: str) -> list[Check]:
    """Every check of these kinds in a list."""
    found = []
    for defect in listed(name):
        for check in defect.found_by:
            kind, value = next(iter(check.items()))
            if kind in kinds:
                options = {key: option for key, option in check.items() if key != kind}
                found.append(Check(defect, kind, value, options))
    return found


def kinds(name: str) -> set[str]:
    return {next(iter(check)) for defect in listed(name) for check in defect.found_by}


def chosen(defect: str) -> dict[str, str]:
    """The environment in which a build with defects makes this mistake; "": none."""
    environment = {key: value for key, value in os.environ.items() if key != "SLIPRING_DEFECT"}
    return {**environment, "SLIPRING_DEFECT": defect} if defect else environment
