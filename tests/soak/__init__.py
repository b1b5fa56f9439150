# SPDX-License-Identifier: Apache-2.0
"""Hours of traffic under fire: what is lost, what grows, how long survivors wait, as one page.

    PYTHONPATH=tests:. python -m soak --hours 2 --out soak-report        (make soak HOURS=2)

In reading order:

cast        who plays: topics and seats, as data
bodies      message bodies of all sizes from 0 B on, that tell whether they are whole
publishers, readers     what the seats do; each deed goes to a journal (demo.journal)
troop       starts, stops and kills them (processes of crash.fleet)
recording   `slipring record` beside them, and what its lake holds
probes      memory, descriptors, files, table entries as /proc and the bus tell them
run         one soak from the first process to the last file
journals    what all of them wrote down, as arrays
audit       journals -> claims about messages
flatness    samples -> claims about memory, descriptors, entries, files
page        claims, figures and plots as HTML, JSON and PNG
"""
