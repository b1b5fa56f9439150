# SPDX-License-Identifier: Apache-2.0
"""Encoder and Decoder: objects to bodies and back, prepared once for each schema.

`encode` and `decode` are functions made for the schema, not methods: a call costs one Python function, or two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slipring.errors import BadArgument

from .bound_classes import Bound
from .compatibility import View, check_same, view
from .declare import declare
from .topic_schema import Schema


class Encoder:
    """Encodes objects for a topic.

    schema: the topic's. own: the schema of the program's class; by default the class that `schema` was declared with.
    encode(value): the body as a bytes-like object. The value is an object of the class, a dict for a structure, a
    record or scalar for numpy, a RecordBatch for arrow. BadArgument names the field that does not fit.
    """

    encode: Callable[[Any], Any]

    def __init__(self, schema: Schema, own: Any = None) -> None:
        bound = schema.bound
        if own is not None:
            own = own_schema(own, schema)
            check_same(schema, own)
            bound = own.bound
        self.schema = schema
        self.encode = _encoder(schema, bound)

    def encode_array(self, array: Any) -> memoryview:
        """Return the bodies of a numpy array of messages, one after the other, of equal size. Encoding numpy only."""
        from .encodings import numpy_bodies

        if self.schema.encoding != "numpy":
            text = f"an array of messages needs a schema of encoding numpy, this is {self.schema.encoding}"
            raise BadArgument(text, argument="array")
        return numpy_bodies.records(self.schema, array)


class Decoder:
    """Decodes bodies of a topic.

    schema: the topic's. own: the subscriber's class, or its Schema; None for plain values: a dict, a numpy record, a
    RecordBatch. SchemaMismatch names the field of the class that the topic cannot fill.
    decode(body): the object, of its own memory. Undecodable names the field of a body that does not fit the schema.
    """

    decode: Callable[[Any], Any]

    def __init__(self, schema: Schema, own: Any = None) -> None:
        chosen = view(schema, None if own is None else own_schema(own, schema))
        self.schema, self.view = schema, chosen
        self.decode = _decoder(chosen)


def plain_decoder(schema: Schema) -> Callable[[Any], Any]:
    """Return the function that decodes bodies of any encoding into plain values.

    A structure is a dict, a message of encoding arrow is a list of dicts, NaT is None.
    """
    decode = Decoder(schema).decode
    if schema.encoding == "numpy":
        from .encodings import numpy_bodies

        return lambda body: numpy_bodies.plain(schema.root, decode(body), nat=True)
    if schema.encoding == "arrow":
        from .encodings import arrow_bodies

        return lambda body: arrow_bodies.rows(schema.fields, decode(body))
    return decode


def own_schema(own: Any, schema: Schema) -> Schema:
    """Return the schema of a program's class; classes take the encoding of the topic, where they can."""
    found = declare(own)
    if found.bound is not None and schema.encoding in ("msgpack", "json"):
        return declare(own, schema.encoding) if not isinstance(own, Schema) else found
    return found


def _encoder(schema: Schema, bound: Bound | None) -> Callable[[Any], Any]:
    if schema.encoding in ("msgpack", "json"):
        from .encodings import msgspec_bodies

        return msgspec_bodies.encoder(schema, bound)
    if schema.encoding == "numpy":
        from .encodings import numpy_bodies

        return numpy_bodies.encoder(schema, bound)
    if schema.encoding == "arrow":
        from .encodings import arrow_bodies

        return arrow_bodies.encoder(schema)
    if schema.encoding == "protobuf":
        from .encodings import protobuf_bodies

        return protobuf_bodies.encoder(schema)
    from .encodings import flatbuffers_bodies

    return flatbuffers_bodies.encoder(schema)


def _decoder(chosen: View) -> Callable[[Any], Any]:
    encoding = chosen.found.encoding
    if encoding in ("msgpack", "json"):
        from .encodings import msgspec_bodies

        return msgspec_bodies.decoder(chosen)
    if encoding == "numpy":
        from .encodings import numpy_bodies

        return numpy_bodies.decoder(chosen)
    if encoding == "arrow":
        from .encodings import arrow_bodies

        return arrow_bodies.decoder(chosen)
    if encoding == "protobuf":
        from .encodings import protobuf_bodies

        return protobuf_bodies.decoder(chosen)
    from .encodings import flatbuffers_bodies

    return flatbuffers_bodies.decoder(chosen)
