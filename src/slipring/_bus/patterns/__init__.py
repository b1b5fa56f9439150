# SPDX-License-Identifier: Apache-2.0
"""A subscriber of all topics whose names match a pattern, those that appear later too.

Contract: each topic is read in its own order, and no topic starves the others; counts are sums over all topics.

subscriber   PatternSubscriber, what programs use      topics   which topics match now, each with its subscriber
"""
