# SPDX-License-Identifier: Apache-2.0
"""Typed topics: what a bus, a publisher and a subscriber do with the schema that is stored with a topic.

Contract: the schema package knows no bus, and the core does not interpret a schema. Only this room joins them. It is
imported by processes that give a schema or meet one. Untyped topics do without it.

    stored              the schema of a topic: given when it is made, compared when it is opened
    publisher_codec     PublisherCodec: values, arrays and batches to bodies, and records in place
    subscriber_reading  Reading: from the schema of a topic to the decoder of one subscriber
    error_place         topic and sequence in an error
    columns             batches and streams with a column for each field
"""
