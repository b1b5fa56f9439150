# SPDX-License-Identifier: Apache-2.0
import pytest

from slipring.pipelines.lake import Lake


@pytest.fixture
def lake(tmp_path):
    return Lake.create(tmp_path / "lake")


@pytest.fixture
def session(lake):
    return lake.begin({"subscribe": "a,b"})
