# SPDX-License-Identifier: Apache-2.0
"""Runs inside a process started by support.processes: ``child.py SCRIPT VARIABLES``.

The script sees: ``slipring``; ``bus`` (name "test", the test's root); ``root``; ``say(value, …)``: a line to
the test; ``hear()`` waits for one line from it (its end when the test is gone); and its own variables.
Values are Python literals: numbers, str, bytes, None, bool, tuples, lists, dicts.
"""

import ast
import ctypes
import linecache
import signal
import sys
import traceback

PR_SET_PDEATHSIG = 1


def say(*values) -> None:
    sys.stdout.write(repr(values[0] if len(values) == 1 else values) + "\n")
    sys.stdout.flush()


def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit("the test went away")
    return ast.literal_eval(line)


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    script, variables = sys.argv[1], ast.literal_eval(sys.argv[2])
    linecache.cache["<child>"] = (len(script), None, script.splitlines(keepends=True), "<child>")
    scope = {"__name__": "__main__", "say": say, "hear": hear, **variables}
    import slipring

    scope["slipring"] = slipring
    if variables.get("bus_name") is not None:
        scope["bus"] = slipring.Bus(variables["bus_name"], root=variables["root"])
    try:
        exec(compile(script, "<child>", "exec"), scope)
    except Exception:  # noqa: BLE001 - whatever the script raises is shown
        traceback.print_exc()  # unlike the interpreter's own report it shows the script's lines
        sys.exit(1)


if __name__ == "__main__":
    main()
