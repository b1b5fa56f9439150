# SPDX-License-Identifier: Apache-2.0
"""A sub-interpreter is refused when it imports the package, and the main interpreter goes on."""

import importlib.util
import subprocess
import sys

import pytest

MODULE = next(
    (name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)), None
)
PROGRAM = """
import importlib, sys
interpreters = importlib.import_module(sys.argv[1])
order, root = sys.argv[2:]


def create():  # not isolated: an editable installation starts a process when it is imported
    return interpreters.create(isolated=False) if sys.version_info < (3, 13) else interpreters.create("legacy")


code = '''
try:
    import slipring
except ImportError as error:
    print("refused:", error, flush=True)
else:
    print("imported", flush=True)
'''
if order == "before":
    interpreters.run_string(create(), code)
import slipring
bus = slipring.Bus("test", root=root)
pub, sub = bus.publisher("t", capacity=4096), bus.subscriber("t")
if order == "after":
    interpreters.run_string(create(), code)
pub.send(b"x", type="kind")
assert isinstance(sub.recv(timeout=0), slipring.Message)
with pub.loan(8) as view:
    view[:] = bytes(8)
with sub.view(timeout=0) as message:
    assert bytes(message.body) == bytes(8)
pub.close()
try:
    pub.send(b"x")
except slipring.Closed:
    print("works", flush=True)
"""


@pytest.mark.skipif(MODULE is None, reason="this Python has no sub-interpreters for Python programs")
@pytest.mark.parametrize("order", ["before", "after"])
def test_importing_in_a_sub_interpreter_is_refused_and_breaks_nothing(bus_root, order):
    command = [sys.executable, "-P", "-c", PROGRAM, MODULE, order, str(bus_root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, works = done.stdout.splitlines()
    assert refused.startswith("refused:"), done.stdout
    assert "sub-interpreter" in refused
    assert works == "works"
