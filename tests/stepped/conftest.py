# SPDX-License-Identifier: Apache-2.0
"""What only a stepped bus can do."""

import pytest

from slipring.testing import SteppedBus


@pytest.fixture
def bus():
    with SteppedBus() as bus:
        yield bus
