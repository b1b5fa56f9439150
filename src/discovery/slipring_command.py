# SPDX-License-Identifier: Apache-2.0
"""Where the ``slipring`` command begins: while Python imports the package, which takes a while,
Ctrl-C just ends the process, by the signal and without a traceback. There is nothing to clean up yet.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody had it ignored
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    from slipring.cli import main as command

    command()
