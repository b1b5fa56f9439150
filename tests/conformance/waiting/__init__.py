# SPDX-License-Identifier: Apache-2.0
"""Time-outs, asyncio, waiting on many subscribers, threads, and the end of waits when a handle is closed."""
