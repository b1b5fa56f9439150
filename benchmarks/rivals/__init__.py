# SPDX-License-Identifier: Apache-2.0
"""Other transports, at their fastest settings; each file says which and why. Each has TRANSPORTS, classes by name.

In: slipring.bench.transport. They are measured in an environment of their own, without Slipring.
"""
