# SPDX-License-Identifier: Apache-2.0
"""Slipring measured beside rivals, C programs and Spark's own sources, from the checkout: ``python -m benchmarks``.

In: slipring.bench, which measures, and `slipring bench`, whose options it shares. Out: results/, read with README.md.

suite, questions, ours, rivals, floors    what is measured: further questions; further parts of ours; others; C programs
environments, rivals_venv, isolated_import, sample    the processes in which it is measured
target, targets    what Slipring wants of itself, and the verdicts
panels, plot       the picture
spark              Spark, which has a command of its own: ``python -m benchmarks.spark``
"""
