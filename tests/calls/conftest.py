# SPDX-License-Identifier: Apache-2.0
"""A started server with the methods that most tests need, and a client of it."""

import pytest

from support.calling import Gate
from support.calling import client as client
from support.calling import server as server


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.opened.set()
