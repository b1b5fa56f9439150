# SPDX-License-Identifier: Apache-2.0
"""Encodings of messages: what each library declares as types, and its bodies.

Contract: a body that does not fit the schema raises Undecodable and costs no more memory than a small multiple of its
size; an object that does not fit raises BadArgument, and nothing is produced.

msgspec_bodies     msgpack and JSON             fast_checks   their checks, compiled for each schema
numpy_layout       dtypes as types              numpy_bodies  records of fixed size
record_columns     their columns, and back
arrow_types        Arrow schemas as types       arrow_bodies  record batches
protobuf_types     descriptors as types         protobuf_bodies
flatbuffers_types  .bfbs as types               flatbuffers_bodies
flatbuffers_tables tables read with checks of each offset
"""
