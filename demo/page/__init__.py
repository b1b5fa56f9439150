# SPDX-License-Identifier: Apache-2.0
"""The report of the demo as one HTML page without scripts: document (the page), then its charts in their order:

processes, rates, losses, latency, pauses. The frame, the common style and the axes are slipring.pipelines.html.
"""
