# SPDX-License-Identifier: Apache-2.0
"""Calls of a stepped bus: the runtime instead of threads and machine time, the server's workers, the replies."""
