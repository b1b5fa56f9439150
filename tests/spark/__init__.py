# SPDX-License-Identifier: Apache-2.0
"""Tests with real Spark sessions and processes: source, sink, session, cluster and pipelines."""

PATIENCE_S = 240.0  # a watchdog only: a driver may have to start first, on a busy machine
