# SPDX-License-Identifier: Apache-2.0
"""What happens to the others when a process dies, is paused, forks or executes (promises 9 to 14, 16).

fleet     a nursery process that forks test processes by the hundred, each a stranger to the test process
board     shared words: heartbeats of the processes of a storm, and the orders they obey
journal   what each process did, written so that SIGKILL loses nothing that was written
bodies    message bodies that say who made them and whether they are whole
actors    the publishers, subscribers and members of a storm
structures    the users of cells, frames and calls in one
native, c/    the same in C, as far as C has them
company   starts them, kills and pauses them at random instants, watches the survivors go on
storm     a company on one topic, from its beginning to its end
audit, structures_audit   read the journals afterwards and account for every message, element, frame and call
tally     what all storms of a run came to
starters  processes that open and close things for ever, to be killed while they do
steps     kills a process after a number of machine instructions
rings     the smallest ring, what fills it, and a process that holds a claim on it

A storm runs for SLIPRING_STORM_SECONDS in all (default 40) or until SLIPRING_STORM_KILLS, shared out between its
scenarios, and SLIPRING_STORM_SEED repeats the random choices of a run (not its timing). SLIPRING_STEP_TRIALS processes
die at single instructions (default 150).
"""
