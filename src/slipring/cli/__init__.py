# SPDX-License-Identifier: Apache-2.0
"""The ``slipring`` command: one module per verb, thin over the library.

``main`` uses only the standard library until it knows that the ``cli`` extra is installed.  Beside the verbs:
``app`` the command itself, ``endings`` how the process ends, ``failures`` an error in one line, ``options``
what verbs share on the command line, ``known_names`` what exists and what a mistaken name may mean, ``framing``
bodies in a byte stream, ``survey`` all counters and their differences, ``arrivals`` gaps between messages,
``host_checks`` this machine, ``tables``, ``top_screen`` and ``units`` for the eye.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, NoReturn

from slipring.cli.terminal import process_exit as endings

if TYPE_CHECKING:
    from click import Command

EXTRA = 'pip install "slipring[cli]"'


def main(command: Command | None = None) -> NoReturn:
    """Run the command line in ``sys.argv`` and end the process with its exit code."""
    try:
        endings.prepare()
        missing = [name for name in ("click", "rich") if importlib.util.find_spec(name) is None]
        if missing:
            endings.complain(f"error: the command line needs {' and '.join(missing)}: {EXTRA}")
            sys.exit(2)
        from slipring.cli.app import run

        endings.catch_signals()
        code = run(command)
        endings.flush()
    except endings.Stopped as stopped:
        endings.die(stopped.signum)
    except KeyboardInterrupt:
        endings.die(endings.INTERRUPT)
    except OSError as error:
        endings.complain(f"error: {error.strerror or error}")
        endings.discard_output()
        sys.exit(1)
    sys.exit(code)
