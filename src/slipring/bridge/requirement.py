# SPDX-License-Identifier: Apache-2.0
"""pyzmq, with an import error that says what to install; whoever needs it imports it from here."""

from __future__ import annotations

try:
    import zmq
except ImportError as error:
    raise ImportError('the bridge needs pyzmq: pip install "slipring[zmq]"') from error

__all__ = ["zmq"]
