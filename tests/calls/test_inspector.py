# SPDX-License-Identifier: Apache-2.0
"""The owner of a writer entry, by which a client notices that its server was replaced."""

import pytest

import slipring


def test_an_inspector_distinguishes_successive_owners_of_an_entry(bus):
    bus.create("t", writers="one")
    inspector = slipring._native.Inspector(bus.path, "t")
    owners = [inspector.owner(0)]
    for _ in range(3):
        with bus.publisher("t"):
            owners.append(inspector.owner(0))
        assert inspector.owner(0) == 0
    assert owners[0] == 0 and len(set(owners)) == 4
    with pytest.raises(slipring.BadArgument):
        inspector.owner(1)
    inspector.close()
    with pytest.raises(slipring.Closed):
        inspector.owner(0)
