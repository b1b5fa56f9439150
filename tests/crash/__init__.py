# SPDX-License-Identifier: Apache-2.0
"""Effects on other processes when a process dies, is paused, forks or executes a program (promises 9 to 14, 16).

storms        kills at random moments, with an audit
instructions  kills at single machine instructions
rings         the smallest ring, a function that fills it, and a process that holds a claim on it
starters      processes that open and close handles in a loop, to be killed meanwhile

Workers, journals and the audit of topics are in tests/storm.
"""
