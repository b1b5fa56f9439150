# SPDX-License-Identifier: Apache-2.0
"""Processes are killed at single machine instructions of a call (steps.py).

SLIPRING_STEP_TRIALS sets the number of kills (default 150).
"""
