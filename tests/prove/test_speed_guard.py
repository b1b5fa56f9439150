# SPDX-License-Identifier: Apache-2.0
"""The guard of the hot paths (tests/speed) detects an added loop, allocation or system call in send.

The switches of defects cost instructions, so the build with defects is compared with itself, not with shipped figures.
"""

import pytest

from speed.profile import measure
from speed.test_hot_paths import faults
from support import core_build, defects


@pytest.mark.timeout(1200)
def test_a_slower_hot_path_is_noticed_and_nothing_else(tmp_path, bus_root):
    package = core_build.package_environment("package_defects")
    costs = {}
    for name in ("", "send_does_more"):
        place, root = tmp_path / f"with-{name}", bus_root / f"with-{name}"
        place.mkdir()
        root.mkdir()
        costs[name] = measure(place, root, {**defects.chosen(name), **package})
    figures = {part: cost.instructions for part, cost in costs[""].items()}
    assert faults(costs[""], figures) == []
    found = faults(costs["send_does_more"], figures)
    for word in ("instructions", "allocations", "system calls"):
        assert any(fault.startswith("send:") and word in fault for fault in found), found
    assert not [fault for fault in found if fault.startswith("recv")], found
