# SPDX-License-Identifier: Apache-2.0
"""Schemas of typed topics: declarations, bytes, codecs, columns.

samples: classes that declare the same structure in each way. strategies: random types, and values of any type.
foreign: a Protobuf message class and a FlatBuffers schema.
"""
