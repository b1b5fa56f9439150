# SPDX-License-Identifier: Apache-2.0
"""Spark jobs over topics: recording into a lake, replay from it, reports on it."""
