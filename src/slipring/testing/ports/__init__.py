# SPDX-License-Identifier: Apache-2.0
"""The handles of a stepped bus: publisher, subscriber, member and pattern subscriber.

They have the methods and errors of the real ones. A call that waits blocks in the scheduler.
"""
