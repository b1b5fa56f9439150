# SPDX-License-Identifier: Apache-2.0
"""``python -m slipring.cli``."""

from slipring.cli import main

main()
