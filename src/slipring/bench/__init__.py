# SPDX-License-Identifier: Apache-2.0
"""Measures Slipring on this machine: rates, latencies, wake-ups, bandwidth. Leaves nothing behind.

In: ``run.run(plan, environment)``, as ``slipring bench`` calls it. Out: a JSON document of samples, and its tables.

run, rounds          one run, from what is asked to the document that is kept; its samples, round after round
suite, environment   what can be asked of which transport; the processes in which cases are measured
sample, processes    one sample: a fresh process that forks the others
case, transport      a question put to a transport; what a transport has to provide
questions, ours      what is asked, one module each; Slipring as it is measured
machine, placement, other_load    what the machine was like
histogram, summary, report, spelling    from times to tables

``benchmarks`` in the repository adds rivals, C programs, targets and pictures, and more questions.
"""
