# SPDX-License-Identifier: Apache-2.0
"""Cells: the newest values of one writer for one reader.

Contract: neither end waits for the other; each element is taken at most once, and losses are counted exactly.

cells     Cells, made by Bus.cells        ends            the writer and the reader
elements  bytes, and the stored format    numpy_elements  numpy values
store     files, writers and readers      dtypes          numpy dtypes as text
"""
