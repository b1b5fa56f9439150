# SPDX-License-Identifier: Apache-2.0
"""Storms: processes are killed at random moments, then every message, element, frame and call is accounted for.

storm         a storm that fails when a process ends without being killed; its length and its seed
structures, structures_audit   workers that use cells, frames and calls, and the audit of their journals
tally         the totals of all storms of a run

SLIPRING_STORM_SECONDS sets the length of all scenarios together (default 40). SLIPRING_STORM_KILLS sets a number of
kills instead. SLIPRING_STORM_SEED repeats the random choices of a run, but not its timing.
"""
