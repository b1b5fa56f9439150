# SPDX-License-Identifier: Apache-2.0
"""Hours of traffic with kills: one page reports losses, growth and the longest pauses of survivors.

    PYTHONPATH=tests:. python -m soak --hours 2 --out soak-report        (make soak HOURS=2)

Processes, journals and checks are those of tests/storm. In reading order:

plan        topics and roles, as data
recording   `slipring record` of the topics, and the contents of its lake
probes      memory, descriptors, files, table entries as /proc and the bus show them
run         one soak from the first process to the last file
audit       journals -> claims about messages
flatness    samples -> claims about memory, descriptors, entries, files
figures     samples, gaps and journals -> numbers
page        claims, figures and plots as HTML, JSON and PNG
"""
