# SPDX-License-Identifier: Apache-2.0
"""Programs in C and Java, written from the documents alone, work with Python processes (promise 25).

c/       the ring in C, without an include or a library of the core
java/    the ring and calls in Java 17: "java" is pure Java; "java+futex" may also make the futex call
peers    builds and starts the programs; a Python process with the same command line; the messages of a publisher

The programs print Python literals, one a line: 'ready', ('sent', count, seq), messages, and
('end', received, lost, position, sum). Equal sums mean equal messages in equal order.
"""
