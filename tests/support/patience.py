# SPDX-License-Identifier: Apache-2.0
"""How long a watchdog waits before it calls a test stuck. A limit here is never a promise of the product.

SLIPRING_TEST_PATIENCE multiplies every limit. The default is for a machine with twice its load; planted defects, whose
tests may hang, are given 1.
"""

import os

import pytest

PATIENCE = float(os.environ.get("SLIPRING_TEST_PATIENCE", "3"))


def scaled(seconds: float) -> float:
    return seconds * PATIENCE


def scale_timeouts(items: list[pytest.Item]) -> None:
    """The limits of pytest-timeout: those of markers, and the default of --timeout or pyproject.toml."""
    for item in items:
        marker = item.get_closest_marker("timeout")
        default = float(item.config.getoption("timeout") or item.config.getini("timeout") or 0)
        seconds = marker.args[0] if marker is not None and marker.args else default
        item.add_marker(pytest.mark.timeout(scaled(seconds)), append=False)
