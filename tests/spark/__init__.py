# SPDX-License-Identifier: Apache-2.0
"""Topics in Spark: real sessions and processes, one room for each side of Spark that is tested."""

PATIENCE_S = 240.0  # a watchdog, no promise: a driver may have to start first, on a machine with other work
