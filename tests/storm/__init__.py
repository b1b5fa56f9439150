# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed and paused while they work, and the sums of what they wrote down.

One harness for the crash tests (tests/crash), the soak (tests/soak) and the demo (demo/). In reading order:

journal       what a process did, in records that SIGKILL cannot lose
bodies        message bodies that show whether they are whole, and who sent them
board         shared words: orders to the workers, and their heartbeats
worker        what runs in a process: bus, journal, row on the board, number of its life
roles         publishers, readers, members for storms and soaks
native, c/    the same in C, and the users of cells and frames
fork_server   forks fresh processes within milliseconds
supervisor    starts, kills, pauses, ends them; leaves journals and lives.jsonl
strikes       kills and pauses at random instants, from a seed
audit         adds the journals up: what was lost, changed, made up, reordered or not counted
"""
