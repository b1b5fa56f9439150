# SPDX-License-Identifier: Apache-2.0
"""What a lake knows of its topics, and bodies of typed topics as columns.

Contract: a recording holds bodies as bytes, and nothing here is needed to read them. Settings and schemas in a lake are
hostile until they are checked.

topic_settings  `_topics/<topic>.json`: how topics were set up, by generation
schema_files    `_schemas/<hash>.json`: the schemas of typed generations, each once
selection       one schema for several topics and generations, or an error that names the field
body_decoders   bodies by topic and generation, and the decoder of each schema
decoding        rows of a lake to rows with a column for each field, in tasks of Spark
spark_columns   the fields of a schema in types of Spark
views           a temporary view for each topic, for SQL
"""
