# SPDX-License-Identifier: Apache-2.0
"""Reading: from the schema of a topic to the decoder of one subscriber.

A subscriber may come before its topic. So it has a Reading from the beginning, and calls it with the topic's schema
when it attaches: that is when a schema which does not fit is refused. The decoder itself is made when a value is first
asked for; a subscriber that reads bodies alone needs none of the packages of the encoding.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from slipring.errors import SlipringError

from ..native import _native
from .error_place import locate, name_topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..schema.topic_schema import Schema
    from .columns import Columns

Decoder = _native.Decoder


class PlainMessage(NamedTuple):
    """The value of a message for readers that know nothing of its topic: `bus.subscriber(topic, schema=PlainMessage)`.

    schema: the topic's. value: plain values, for every encoding (`plain_decoder`). The value of a message of an untyped
    topic is its body.
    """

    schema: Schema
    value: Any


class Reading:
    """How one subscriber reads its topic.

    own: the schema of its class; PlainMessage; None: what the encoding's library gives, or bodies.
    """

    __slots__ = ("_columns", "_is_plain", "own")

    def __init__(self, own: Schema | type[PlainMessage] | None = None) -> None:
        self.own: Schema | None = None if isinstance(own, type) else own
        self._is_plain = isinstance(own, type)
        self._columns: Columns | None = None

    def __call__(self, topic: str, data: bytes | None) -> Decoder | None:
        """Return the decoder for a topic with this schema, None for an untyped one. SchemaMismatch: it does not fit."""
        own = self.own
        if data is None and own is None:
            return None
        from ..schema.codec import own_schema
        from ..schema.compatibility import view
        from . import stored

        try:
            if data is None:
                assert own is not None
                raise stored.no_schema(own)
            found = stored.schema_of(data)
            if own is not None:
                # defect view_not_checked_when_subscribing: pass
                view(found, own_schema(own, found))
        except SlipringError as error:
            name_topic(error, topic)
            raise
        if self._is_plain:
            return Decoder(partial(plain_function, data), locate)
        thing = None if own is None else own if own.declared is None else own.declared
        return Decoder(partial(decode_function, data, thing), locate)

    def columns(self, data: bytes | None) -> Columns | None:
        """Return what decodes batches of a topic with this schema, as the decoder does messages; None for none."""
        if self._columns is None and data is not None:
            from . import stored
            from .columns import Columns

            self._columns = Columns(stored.schema_of(data), self.own)
        return self._columns


def decode_function(data: bytes, own: Any) -> Callable[[Any], Any]:
    """Return the function that decodes bodies of the schema with these bytes into objects of the class."""
    from ..schema.codec import Decoder as CodecDecoder
    from . import stored

    return CodecDecoder(stored.schema_of(data), own).decode


def plain_function(data: bytes) -> Callable[[Any], PlainMessage]:
    """Return the function that decodes bodies of the schema with these bytes into plain values."""
    from ..schema.codec import plain_decoder
    from . import stored

    schema = stored.schema_of(data)
    decode = plain_decoder(schema)
    return lambda body: PlainMessage(schema, decode(body))
