# SPDX-License-Identifier: Apache-2.0
"""A small robot of real processes, killed all the time, and a proof that nobody but the killed noticed.

    python -m demo [--seconds 25] [--seed N] [--out demo-report]

A map of the package, in reading order:

    cast        who plays: topics and seats, as data
    bodies      what a message looks like: who sent it, when, and a checksum
    journal     what a process writes down about its deeds; SIGKILL loses no record
    roles/      what each seat does: the only code here that uses Slipring as a robot would
    actor       the main program of every process of the robot
    library     a copy of Slipring that all of them run from
    fleet       starts, stops and kills them
    chaos       decides whom to strike next
    interruption    Ctrl-C, at a safe place
    live        what is seen while it runs
    finale      ends everything in good order and reads the last counters
    evidence    the journals of all lives, put together
    truth       what was committed, as all witnesses together say
    claims, audit   pure functions: evidence -> claims, PASS or FAIL
    timings     pure functions: evidence -> rates, latencies, pauses of survivors
    summary     the table at the end
    page/       the same as one HTML page with charts
    show        one performance from set-up to report
"""
