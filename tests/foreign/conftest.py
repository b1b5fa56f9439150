# SPDX-License-Identifier: Apache-2.0
"""Build the programs once. Check after every test that they left nothing behind."""

import pytest

from foreign.peers import Peers, build


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    return build(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def peers(bus, bus_root, commands):
    """Start programs and end them after the test. The next attach frees the entries of killed ones."""
    started = Peers(bus_root, commands)
    yield started
    started.discard()
    for topic in bus.topics():
        bus.publisher(topic).close()
        assert bus.stats(topic)["publishers"] == bus.stats(topic)["readers"] == []
    assert bus.doctor() == []
