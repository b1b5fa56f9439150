# SPDX-License-Identifier: Apache-2.0
"""Slipring measured beside its rivals: one module per question, one file per rival, one command.

``slipring bench`` runs it; benchmarks/README.md in the repository says how to read it.

questions/   what is asked: cases, how each is measured, the figure that counts
ours/        Slipring as it is measured
rivals/      everybody else, and what to install for them
floors/      the same work in C, without Python, for reference
"""
