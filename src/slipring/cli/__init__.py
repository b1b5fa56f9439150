# SPDX-License-Identifier: Apache-2.0
"""The ``slipring`` command, a thin layer over the library.

app.py is the command itself. verbs/ has one module per verb, which is imported only when the verb is used. terminal/
has what verbs share: options, names, tables, progress, errors in one line, and the end of the process. spark_job.py
runs Spark outside the main thread. ``main`` uses only the standard library until it knows that the ``cli`` extra is
installed.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, NoReturn

from slipring.cli.terminal import process_exit

if TYPE_CHECKING:
    from click import Command

EXTRA = 'pip install "slipring[cli]"'


def main(command: Command | None = None) -> NoReturn:
    """Run the command line in ``sys.argv`` and end the process with its exit code."""
    try:
        process_exit.prepare()
        missing = [name for name in ("click", "rich") if importlib.util.find_spec(name) is None]
        if missing:
            process_exit.complain(f"error: the command line needs {' and '.join(missing)}: {EXTRA}")
            sys.exit(2)
        from slipring.cli.app import run

        process_exit.catch_signals()
        code = run(command)
        process_exit.flush()
    except process_exit.Stopped as stopped:
        process_exit.die(stopped.signum)
    except KeyboardInterrupt:
        process_exit.die(process_exit.INTERRUPT)
    except OSError as error:
        process_exit.complain(f"error: {error.strerror or error}")
        process_exit.discard_output()
        sys.exit(1)
    sys.exit(code)
