# SPDX-License-Identifier: Apache-2.0
"""A bus between hosts: real processes over loopback, killed, cut off, sent malformed messages (promise 27)."""
