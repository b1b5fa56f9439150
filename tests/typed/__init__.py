# SPDX-License-Identifier: Apache-2.0
"""Typed topics on the bus of one host: schemas stored with topics, values, columns.

tests/conformance has the promises that hold on every kind of bus, tests/schema the schemas and codecs alone.
"""
