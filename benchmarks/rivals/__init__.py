# SPDX-License-Identifier: Apache-2.0
"""Other transports with their fastest settings; each file documents its settings and the reasons.

Each module has TRANSPORTS: classes of slipring.bench.transport by name. They are measured in a separate environment
without Slipring.
"""
