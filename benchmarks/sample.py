# SPDX-License-Identifier: Apache-2.0
"""Takes one sample in a fresh process: ``python -m benchmarks.sample CASE PLACE SECONDS`` prints JSON."""

import json
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.case import Case
from benchmarks.rivals import package_of, transport_class


def installed_version(package: str | None) -> str:
    if package is None:
        return "standard library"
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def main(case_json: str, place: str, seconds: str) -> None:
    case = Case.from_json(case_json)
    question = import_module(f"benchmarks.{case.question}")
    figures = question.measure(transport_class(case.transport), case, Path(place), float(seconds))
    print(json.dumps({"figures": figures, "version": installed_version(package_of(case.transport))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
