# SPDX-License-Identifier: Apache-2.0
"""Decode the values of messages into typed columns.

value_options.py has the options, decoder.py the decoder of a task, and each kind of value a module of its own. Nothing
here knows topics or offsets.
"""
