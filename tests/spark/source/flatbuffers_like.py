# SPDX-License-Identifier: Apache-2.0
"""A decoder of a user, for option valueFormat=module:function."""

import struct


def decode(value: bytes) -> dict:
    x, name = struct.unpack("<i4s", value)
    return {"x": x, "name": name.rstrip(b"\0").decode(), "ignored": True}
