# SPDX-License-Identifier: Apache-2.0
"""Record topics into a lake. Every message is in the lake exactly once, or counted in a hole.

In reading order:

record          the whole recording: session, cursors, Spark, query, end
begin, hosts    which session is resumed or begun, and where it begins on each topic
topic_extents   where the recording begins on each topic, and how far each topic has gone
limits          when the recording ends; end_offsets: the offsets of the end, in a file for the query
recorder        the streaming query; topic_state: what the topics have now
batch           one batch, from Spark's plan to the commit in the log
finish          how a session ends; compactor: merges small files meanwhile
"""
