# SPDX-License-Identifier: Apache-2.0
"""Sessions of Spark: settings, start-up time, and the choice of Java, Spark home and Python."""
