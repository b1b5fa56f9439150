# SPDX-License-Identifier: Apache-2.0
"""Hostile bytes, by coverage-guided and by random mutation (invariant 7, docs/reliability/hostile.md).

running     runs one libFuzzer target of core/tests/fuzz (clang, ASAN and UBSAN) and reads what it reached
mutation    random changes to valid bytes, for what Python reads: the call envelope, recordings
__main__    `make fuzz SECONDS=n [TARGET=…]`: the long runs, and `--minimise` for the corpora

Corpora: core/tests/fuzz/corpus/<target> and tests/fuzz/corpus/<target>, one input a file. What a run finds goes to
build-fuzz/found; a mended find is added to its corpus.
"""
