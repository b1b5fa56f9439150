# SPDX-License-Identifier: Apache-2.0
"""Topics on a bus: creation, settings, limits, listing, removal and patterns of names."""
