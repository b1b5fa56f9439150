# SPDX-License-Identifier: Apache-2.0
"""A check of a topic without a message to receive leaves a subscriber at the position of shared memory."""

import pytest

import slipring
from slipring.testing import SteppedBus


@pytest.mark.parametrize("conflate", [False, True])
def test_a_check_passes_abandoned_messages(bus, conflate):
    for each in (bus, SteppedBus("test")):
        with each:
            sub = each.subscriber("t", conflate=conflate)
            with pytest.raises(ZeroDivisionError), each.publisher("t").loan(8):
                raise ZeroDivisionError
            assert slipring.wait([sub], timeout=0) == []
            assert (sub.position, sub.lag) == (1, 0)
