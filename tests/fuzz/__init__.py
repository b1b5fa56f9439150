# SPDX-License-Identifier: Apache-2.0
"""Fuzzing with hostile bytes (invariant 7, docs/reliability/hostile.md).

running     runs a libFuzzer target of core/tests/fuzz (clang, ASAN and UBSAN) and reads its coverage
mutation    mutates input of Python code: the call envelope and recordings
counted     mutates schemas and bodies of typed topics, many a second, without coverage
structured  mutations that keep most of a structure
bodies, schemas, envelope, recording    the targets in Python
__main__    `make fuzz SECONDS=n [TARGET=…]`: long runs, and `--minimise` for the corpora
corpus      the committed inputs: core/tests/fuzz/corpus/<target>.txt and tests/fuzz/corpus/<target>.txt

A failing input is stored in build-fuzz/found. `--add` commits it after the repair.
"""
