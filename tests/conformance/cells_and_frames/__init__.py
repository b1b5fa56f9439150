# SPDX-License-Identifier: Apache-2.0
"""Cells (the newest values of one writer) and frames (large arrays in place)."""
