# SPDX-License-Identifier: Apache-2.0
"""Cells of a stepped bus: the model of their memory (cells), writer and reader (ends), creation (store).

Versions and counts follow the rules of shared memory (docs/spec/cells-layout.md).
"""
