# SPDX-License-Identifier: Apache-2.0
"""Writing topics: options, staged rows, and batches that are published once through every kill."""
