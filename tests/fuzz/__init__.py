# SPDX-License-Identifier: Apache-2.0
"""Fuzzing with hostile bytes (invariant 7, docs/reliability/hostile.md).

running     runs a libFuzzer target of core/tests/fuzz (clang, ASAN and UBSAN) and reads its coverage
mutation    mutates input of Python code: the call envelope and recordings
__main__    `make fuzz SECONDS=n [TARGET=…]`: long runs, and `--minimise` for the corpora
corpus      the committed inputs: core/tests/fuzz/corpus/<target>.txt and tests/fuzz/corpus/<target>.txt

A failing input is stored in build-fuzz/found. `--add` commits it after the repair.
"""
