# SPDX-License-Identifier: Apache-2.0
"""Frames: large arrays in a pool of buffers, announced on a topic and read in place.

Contract: a held frame never changes; the publisher never waits while a buffer is free.

frames   Frames, made by Bus.frames      publisher, subscriber  the two sides
streams  shapes, dtypes and buffers      store                  writers and readers of the pool
"""
