# SPDX-License-Identifier: Apache-2.0
"""Mirrors: copy topics from one bus to another, each message once, with its sender, type and time stamp.

A message: mirrored_topic (read at the source) -> target (publish, note its number) -> origin_files (the number last
published). cycle_check refuses mirrors that feed each other.
"""
