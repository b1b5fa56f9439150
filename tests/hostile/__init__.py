# SPDX-License-Identifier: Apache-2.0
"""Damaged files, exhausted resources, other users, other namespaces (promises 17 and 18, invariant 7).

damage     random writes into the files of a live topic
tormented  processes that use a topic while it is being damaged
tormented.c  the same in C
faulty     every operation of a bus while system calls fail (preload.c), in a process of its own
torment    watches such processes: a signal death or no progress is a failure, a typed error is not
users      running a script as another user of the machine

SLIPRING_HOSTILE_TRIALS random damages are made (default 1000); SLIPRING_HOSTILE_SEED repeats a run's choices;
SLIPRING_HOSTILE_WORDS=all sets every word of both files to every extreme value instead of a sample.
"""
