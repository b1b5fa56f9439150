# SPDX-License-Identifier: Apache-2.0
"""Slipring measured beside its rivals: one module per question, one file per rival, one command.

Start with ``python -m benchmarks --help`` from the repository root; README.md here says how to read it.
"""
