# SPDX-License-Identifier: Apache-2.0
"""Frames of a stepped bus: the pool of buffers, the announcements in the ring, the writer and the reader.

Buffers, announcements and counts follow the rules of shared memory (docs/spec/frames.md).
"""
