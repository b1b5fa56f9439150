# SPDX-License-Identifier: Apache-2.0
"""What a subscriber receives: bodies, order, filters, the account of losses, starts, cursors and members."""
