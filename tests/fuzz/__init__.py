# SPDX-License-Identifier: Apache-2.0
"""Hostile bytes, by coverage-guided and by random mutation (invariant 7, docs/reliability/hostile.md).

running     runs one libFuzzer target of core/tests/fuzz (clang, ASAN and UBSAN) and reads what it reached
mutation    random changes to valid bytes, for what Python reads: the call envelope, recordings
__main__    `make fuzz SECONDS=n [TARGET=…]`: the long runs, and `--minimise` for the corpora

corpus      the committed inputs: core/tests/fuzz/corpus/<target>.txt and tests/fuzz/corpus/<target>.txt

What a run finds goes to build-fuzz/found; once it is repaired, `--add` commits it.
"""
