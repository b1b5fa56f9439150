# SPDX-License-Identifier: Apache-2.0
"""Recordings of typed topics: their schemas, and their bodies as columns.

Contract: a recording holds bodies as bytes. A schema from a lake is hostile until it is checked, and nothing here is
needed to read the bytes.

schema_files    `_schemas/<hash>.json`: the schemas, each once
selection       one schema for several topics and generations, or an error that names the field
decoding        rows of a lake to rows with a column for each field, in tasks of Spark
views           a temporary view for each topic, for SQL
"""
