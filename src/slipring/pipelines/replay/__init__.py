# SPDX-License-Identifier: Apache-2.0
"""Publish a recording again: in order, with its senders, types, time stamps and spacing.

In reading order:

replay      the whole replay: range, targets, order, publishing
range       which part of the recording, onto which topics
targets     the topics of the bus, created as they were recorded if they are missing
order       the messages sorted by Spark; feed: read ahead of the publisher
publishing  publish each message when it is due; pace: when that is
"""
