# SPDX-License-Identifier: Apache-2.0
"""Participants in other languages, written from the documents alone, beside Python ones (promise 25).

c/       the ring in C: no include of the core, nothing linked from it
java/    the ring and calls in Java 17: "java" is pure; "java+futex" may also make the futex call
peers    builds and starts them; a Python process with the same command line; what a publisher sends

The programs say what they saw as Python literals, one a line: 'ready', ('sent', count, seq), messages, and
('end', received, lost, position, sum). Equal sums are equal messages in equal order.
"""
