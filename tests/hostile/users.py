# SPDX-License-Identifier: Apache-2.0
"""Scripts run as other users, by number: no account is needed, only the right to become one (root)."""

import os
import textwrap

import pytest

ANN, BOB, EVE = 61001, 61002, 61003
TEAM = 62001  # the group of ann and bob
GROUPS = {ANN: [TEAM], BOB: [TEAM], EVE: []}


def start_as(processes, uid: int, script: str, umask: int = 0o022, **variables):
    """As processes.start; ``bus`` is opened after the change of user, so that nothing is done as root."""
    if os.geteuid() != 0:
        pytest.fail("only root can become other users: run these tests as root (sudo make test)")
    become = """\
import os
import traceback, encodings.idna, contextlib, json        # what cannot be imported from root's home later
os.umask(umask)
os.setgroups(groups)
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
def outcome(call):
    try:
        call()
        return "done"
    except slipring.SlipringError as error:
        return type(error).__name__
try:
    bus = slipring.Bus("test", root=root)
except slipring.SlipringError as error:
    bus = None
    opened = type(error).__name__
else:
    opened = "done"
"""
    variables = {"uid": uid, "groups": GROUPS[uid], "umask": umask, **variables}
    return processes.start(become + textwrap.dedent(script), bus_name=None, **variables)
