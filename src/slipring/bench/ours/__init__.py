# SPDX-License-Identifier: Apache-2.0
"""Slipring as it is measured, one module per pattern."""
