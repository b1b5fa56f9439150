# SPDX-License-Identifier: Apache-2.0
"""Takes one sample in a fresh process: ``python -m slipring.bench.sample CASE PLACE SECONDS`` prints JSON."""

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.questions import QUESTIONS
from slipring.bench.rivals import package_of, transport_class


def installed_version(package: str | None) -> str:
    if package is None:
        return "standard library"
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def main(case_json: str, place: str, seconds: str) -> None:
    case = Case.from_json(case_json)
    figures = QUESTIONS[case.question].measure(
        transport_class(case.transport), case, Path(place), float(seconds)
    )
    told = {"version": installed_version(package_of(case.transport))}
    if "histogram" in figures:
        told["histogram"] = figures.pop("histogram")
    print(json.dumps({"figures": figures, **told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
