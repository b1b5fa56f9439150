# SPDX-License-Identifier: Apache-2.0
"""The documented memory layout, the compiled core and a reader written from the document alone agree.

document             the tables of docs/spec/memory-layout.md as data
independent_reader   decodes a live topic from these tables alone
"""
