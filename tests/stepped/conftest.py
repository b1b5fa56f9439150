# SPDX-License-Identifier: Apache-2.0
"""Tests of the features that only a stepped bus has."""

import pytest

from slipring.testing import SteppedBus


@pytest.fixture
def bus():
    with SteppedBus() as bus:
        yield bus
