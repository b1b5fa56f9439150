# SPDX-License-Identifier: Apache-2.0
"""The programs, built once, and after every test a look at what they left."""

import pytest

from foreign.peers import Peers, build


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    return build(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def peers(bus, bus_root, commands):
    """All are gone at the end; what the killed left is cleared by whoever comes next."""
    started = Peers(bus_root, commands)
    yield started
    started.discard()
    for topic in bus.topics():
        bus.publisher(topic).close()
        assert bus.stats(topic)["publishers"] == bus.stats(topic)["readers"] == []
    assert bus.doctor() == []
