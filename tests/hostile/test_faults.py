# SPDX-License-Identifier: Apache-2.0
"""Every system call of every operation fails in turn, with every error that it may give (promise 18).

The operation raises an exception of the package that names the cause, and leaves nothing behind. The next attempt
works.
core/tests/faults has the same for the core alone; tests/prove/test_core_defects.py plants mistakes in it.
"""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("fault_trials.py")


@pytest.fixture(scope="module")
def injector(tmp_path_factory) -> Path:
    library = tmp_path_factory.mktemp("injector") / "fault_injector.so"
    source = Path(__file__).with_name("fault_injector.c")
    command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", library, "-ldl"]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return library


@pytest.mark.foreign_files
@pytest.mark.timeout(600)
def test_every_failed_system_call_is_named_and_leaves_nothing(bus_root, processes, injector, capsys):
    child = processes.start(SCRIPT.read_text(), env={"LD_PRELOAD": str(injector)})
    total, wrong = 0, []
    while (heard := child.hear()) != "done":
        name, faults, found = heard
        with capsys.disabled():
            print(f"\n{name}: {faults} faults{', ' + str(len(found)) + ' WRONG' if found else ''}", end="")
        total += faults
        wrong += found
    child.join()
    with capsys.disabled():
        print(f"\n{total} faults in the operations of a bus")
    assert not wrong, "\n".join(wrong)
    assert total > 500, "the injector was not preloaded"
