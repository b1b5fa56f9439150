# SPDX-License-Identifier: Apache-2.0
"""pyzmq and msgspec for the bridge. The ImportError without them names the extra to install."""

from __future__ import annotations

try:
    import msgspec
    import zmq
except ImportError as error:
    raise ImportError('the bridge needs pyzmq and msgspec: pip install "slipring[zmq]"') from error

__all__ = ["msgspec", "zmq"]
