# SPDX-License-Identifier: Apache-2.0
"""Frames are shared memory: the array that is filled and the one that is received are pages of one file."""

import numpy as np
import pytest

import slipring


def test_no_copy_is_made_on_either_side(bus):
    frames = bus.frames("cam", shape=(4, 6, 3), dtype="u1", buffers=3)
    pub, sub = frames.publisher(), frames.subscriber()
    with pub.frame() as array:
        array[:] = 1
        mine = array.__array_interface__["data"][0]
    with sub.recv(0) as frame:
        theirs = frame.array.__array_interface__["data"][0]
        assert mine % 4096 == theirs % 4096 == 0
        assert not frame.array.flags.owndata and not frame.array.flags.writeable


def test_spin_us_is_passed_on_to_the_subscriber_of_announcements(bus):
    sub = bus.frames("cam", shape=(4,), dtype="u1", buffers=3).subscriber()
    assert sub.spin_us == sub.subscriber.spin_us > 0
    sub.spin_us = 0.0
    assert sub.subscriber.spin_us == 0.0


@pytest.mark.parametrize("before", [False, True], ids=["new", "existing"])
def test_a_publisher_that_finds_no_space_leaves_no_topic_behind(bus, before):
    if before:
        bus.frames("large", shape=(4,)).publisher().close()
    there = bus.contents()
    with pytest.raises(slipring.NoSpace):
        bus.frames("large", shape=(1 << 37,), buffers=4).publisher()
    assert bus.contents() == there
    with bus.frames("large", shape=(4,)).publisher() as pub:
        assert pub.send(np.zeros(4, "u1")) == 0
