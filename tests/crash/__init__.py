# SPDX-License-Identifier: Apache-2.0
"""What happens to the others when a process dies, is paused, forks or executes (promises 9 to 14, 16).

Processes, journals and audit are those of tests/storm. Here are

storms        a storm that fails when a process ends by itself; how long it lasts
structures, structures_audit   the users of cells, frames and calls, and how they are accounted for
tally         the sums of all storms of a run
starters      processes that open and close things forever, to be killed while they do
steps         kills a process after a number of machine instructions
rings         the smallest ring, what fills it, and a process that holds a claim on it

A storm runs for SLIPRING_STORM_SECONDS in all (default 40) or until SLIPRING_STORM_KILLS, shared out between its
scenarios, and SLIPRING_STORM_SEED repeats the random choices of a run (not its timing). SLIPRING_STEP_TRIALS processes
die at single instructions (default 150).
"""
