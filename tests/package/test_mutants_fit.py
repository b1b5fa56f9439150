# SPDX-License-Identifier: Apache-2.0
"""The mutants still fit the sources and are all named in docs/spec/promises.md; `make mutants` runs them."""

import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MUTANTS = tomllib.loads((REPOSITORY / "tests/mutants/mutants.toml").read_text())["mutant"]
DOCUMENT = (REPOSITORY / "docs/spec/promises.md").read_text()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["name"])
def test_a_mutant_fits_the_sources_and_is_documented(mutant):
    changes = [[mutant["file"], mutant["before"], mutant["after"]], *mutant.get("more", [])]
    for file, before, after in changes:
        assert before in (REPOSITORY / file).read_text()
        assert before != after
    for test in mutant["tests"].split():
        assert (REPOSITORY / "tests" / test).exists()
    group = mutant["name"].partition(": ")[0]
    assert mutant["name"] in DOCUMENT or f'those named "{group}: …"' in DOCUMENT
