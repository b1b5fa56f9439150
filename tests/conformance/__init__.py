# SPDX-License-Identifier: Apache-2.0
"""The promises of the Python API. Every test runs once for each backend: shared memory, the stepped bus, the bridge.

backends.py lists the backends and the capabilities that each lacks."""
