# SPDX-License-Identifier: Apache-2.0
"""Tasks outside the driver's JVM: a standalone cluster, two executors, and a Spark Connect server."""
