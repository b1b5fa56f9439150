# SPDX-License-Identifier: Apache-2.0
"""Takes one sample in a fresh process: ``python -m slipring.bench.sample CASE PLACE SECONDS`` prints JSON."""

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from slipring.bench.case import Case
from slipring.bench.suite import OWN, Suite


def installed_version(package: str | None) -> str:
    if package is None:
        return "standard library"
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def main(suite: Suite, case_json: str, place: str, seconds: str) -> None:
    case = Case.from_json(case_json)
    transport = suite.transport_class(case.transport)
    figures = suite.questions[case.question].measure(transport, case, Path(place), float(seconds))
    sample = {"version": installed_version(suite.homes[case.transport].package)}
    if "histogram" in figures:
        sample["histogram"] = figures.pop("histogram")
    print(json.dumps({"figures": figures, **sample}))


if __name__ == "__main__":
    main(OWN, *sys.argv[1:])
