# SPDX-License-Identifier: Apache-2.0
"""Schemas of typed topics: their bytes, their declarations, and the codecs of messages.

Contract: nothing here knows the core, a bus or a topic; the compiled part runs the checks of `fast_checks` and the
copies of `record_columns`. Bytes of a schema and bodies of messages may come from any program: they are checked, and
raise Corrupt or Undecodable. An object that does not fit raises BadArgument, and nothing is produced. Third-party
packages are imported at the first use (`packages`). docs/spec/schema.md is normative.

The interface:
    topic_schema.Schema          name, encoding, root type; to_bytes, from_bytes, hash, arrow, json_schema, ddl, python
    declare.declare              a class, dtype, Arrow schema, message class or .bfbs to a Schema
    compatibility                check_same: one schema for all publishers; view: the class of one subscriber
    codec.Encoder, codec.Decoder objects to bodies and back, prepared once for each schema
    codec.plain_decoder          bodies of any encoding to plain values
    json_values                  plain values as JSON for people and other programs, and back
    row_batches                  decode_batch, rows_to_bodies, rows_to_records: many bodies to Arrow columns and back

Below it:
    field_types     the types                     schema_document  types and schemas as canonical JSON
    annotations     classes of Python to types    bound_classes    objects of these classes from plain values
    plain_values    objects to plain values, or an error that names the field
    numpy_layout, arrow_types, protobuf_types, flatbuffers_types, flatbuffers_tables, flatbuffers_writer
    fast_checks     checks of msgpack and JSON messages, compiled for each schema and run by the binding
    msgspec_bodies, library_bodies                the codecs of each encoding
    record_columns                                bodies of encoding numpy as columns, by the compiled part
    descriptions    Spark DDL, JSON Schema and Python source
"""
