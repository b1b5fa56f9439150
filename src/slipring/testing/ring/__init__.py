# SPDX-License-Identifier: Apache-2.0
"""The model of a topic: its messages, its publishers and subscribers, its cursors and settings, without shared memory.

Sequences, room and counts follow the rules of shared memory (docs/spec/memory-layout.md). Nothing here waits.
"""
