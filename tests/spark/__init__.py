# SPDX-License-Identifier: Apache-2.0
"""Topics in Spark: real sessions, real processes."""
