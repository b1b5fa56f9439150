# SPDX-License-Identifier: Apache-2.0
"""What importing the package brings in: a process that publishes and subscribes starts without the rest."""

import subprocess
import sys

import pytest

import slipring

# Patterns other than topics, what looks after a bus, and the slow modules of the standard library behind them.
LATER = {
    "asyncio",
    "click",
    "dataclasses",
    "hashlib",
    "inspect",
    "json",
    "numpy",
    "pyarrow",
    "rich",
    "subprocess",
    "uuid",
    "slipring._bus.calls.client.client",
    "slipring._bus.calls.server.server",
    "slipring._bus.cells.cells",
    "slipring._bus.doctor",
    "slipring._bus.frames.frames",
}
NEW_MODULES = "import sys; before = set(sys.modules); import slipring; print(*(set(sys.modules) - before))"


def test_importing_the_package_imports_nothing_that_publishing_and_subscribing_do_without():
    done = subprocess.run([sys.executable, "-c", NEW_MODULES], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "slipring._bus.subscriber" in imported
    assert not imported & LATER


def test_every_public_name_is_there_before_it_was_asked_for():
    ask = "import slipring; assert set(slipring.__all__) <= set(dir(slipring)); from slipring import *"
    subprocess.run([sys.executable, "-c", ask], check=True)


def test_a_name_that_is_not_there_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="'slipring' has no attribute 'Publsher'"):
        _ = slipring.Publsher
