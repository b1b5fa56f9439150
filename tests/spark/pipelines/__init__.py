# SPDX-License-Identifier: Apache-2.0
"""record, replay and report as jobs of Spark: as functions, as commands, and in a notebook."""
