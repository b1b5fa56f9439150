# SPDX-License-Identifier: Apache-2.0
"""Processes are killed and paused while they work, and an audit adds up their journals.

One harness for the crash tests (tests/crash), the soak (tests/soak) and the demo (demo/). In reading order:

journal       records of the steps of a process, which survive SIGKILL
bodies        message bodies with a checksum and the identity of their sender
board         words in shared memory: orders to the workers, and their heartbeats
worker        the base of each process: bus, journal, row on the board, number
roles         publishers, readers, members for storms and soaks
native, c/    the same in C, and workers that use cells and frames
fork_server   forks fresh processes within milliseconds
supervisor    starts, kills, pauses and ends processes; writes lives.jsonl
strikes       kills and pauses at random instants, from a seed
audit         finds lost, changed, invented, reordered and uncounted messages in the journals
"""
