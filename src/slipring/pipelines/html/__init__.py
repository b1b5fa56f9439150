# SPDX-License-Identifier: Apache-2.0
"""HTML pages and fragments: of reports, notebooks, the demo and the soak test."""
