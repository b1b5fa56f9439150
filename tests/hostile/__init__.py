# SPDX-License-Identifier: Apache-2.0
"""Damaged files, exhausted resources, other users, other namespaces (promises 17 and 18, invariant 7).

damage        random writes into the files of a live topic
participants  processes that use a topic while its files are damaged; participant.c is one in C
supervisor    runs such processes: a signal death or a hang is a failure, a typed error is not
probe         one process that sets one word of the files after another to extreme values
fault_trials  each operation of a bus while its system calls fail (fault_injector.c), in a process of its own
users         scripts run as another user of the machine

SLIPRING_HOSTILE_TRIALS is the number of random damages (default 1000). SLIPRING_HOSTILE_SEED repeats a run's choices.
SLIPRING_HOSTILE_WORDS=all sets every word of both files to every extreme value instead of a sample.
"""
