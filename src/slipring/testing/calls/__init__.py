# SPDX-License-Identifier: Apache-2.0
"""Calls of a stepped bus: runtime (instead of threads and machine time), the server's workers, the replies.

Client, server and dispatcher are those of slipring._bus.calls; only what waits or starts threads is replaced.
"""
