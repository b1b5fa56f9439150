# SPDX-License-Identifier: Apache-2.0
"""The order of events on a stepped bus: virtual time, the choice of what runs next, and an asyncio event loop.

Nothing here knows what a topic is. A waiting call gives a condition; the scheduler runs what can run until it is true.
"""
