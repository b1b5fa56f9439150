# SPDX-License-Identifier: Apache-2.0
"""The topic and the sequence in an error of a schema or a codec, which know neither."""

from __future__ import annotations

from slipring.errors import SlipringError, Undecodable


def locate(error: BaseException, topic: str, seq: int | None) -> None:
    """Add the topic and the sequence of a message to the error of its codec."""
    if not isinstance(error, SlipringError):
        return
    if isinstance(error, Undecodable):
        error.topic, error.seq = topic, seq
    name_topic(error, topic, seq)


def name_topic(error: SlipringError, topic: str, seq: int | None = None) -> None:
    # defect errors_name_no_message: return
    where = f"topic {topic!r}" if seq is None else f"topic {topic!r}, sequence {seq}"
    error.args = (f"{where}: {error}", *error.args[1:])
