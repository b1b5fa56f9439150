# SPDX-License-Identifier: Apache-2.0
"""numpy is an extra: cells of bytes do without, and others say what is missing."""

import subprocess
import sys

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import slipring
bus = slipring.Bus("test", root=sys.argv[1])
cells = bus.cells("c", size=4)
cells.writer().put(b"body")
print(bus.cells("c").reader().latest(), bus.stats("c")["puts"])
for ask in (lambda: bus.cells("n", dtype="f8"), lambda: bus.cells("numbers")):
    try:
        ask()
    except ImportError as error:
        print("slipring[numpy]" in str(error))
"""


def test_bytes_cells_need_no_numpy_and_others_name_the_extra(bus, bus_root):
    bus.cells("numbers", dtype="f8")
    command = [sys.executable, "-c", WITHOUT_NUMPY, str(bus_root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "b'body' 1\nTrue\nTrue\n", done.stderr


def test_slipring_does_not_import_numpy_by_itself():
    code = "import sys, slipring; print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"
