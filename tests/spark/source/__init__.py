# SPDX-License-Identifier: Apache-2.0
"""Reading topics: options, offsets, decoding and cursors; streams and batch reads, with kills at every moment.

readers.py drives a stream reader without Spark; checkpoint-v1 is a checkpoint that must still load.
"""
