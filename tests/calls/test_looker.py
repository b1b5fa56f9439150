# SPDX-License-Identifier: Apache-2.0
"""How a client sees that its server is another one."""

import pytest

import slipring


def test_a_looker_tells_one_owner_of_an_entry_from_the_next(bus):
    bus.create("t", writers="one")
    looker = slipring._native.Looker(bus.path, "t")
    owners = [looker.owner(0)]
    for _ in range(3):
        with bus.publisher("t"):
            owners.append(looker.owner(0))
        assert looker.owner(0) == 0
    assert owners[0] == 0 and len(set(owners)) == 4
    with pytest.raises(slipring.BadArgument):
        looker.owner(1)
    looker.close()
    with pytest.raises(slipring.Closed):
        looker.owner(0)
