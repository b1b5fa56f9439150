# SPDX-License-Identifier: Apache-2.0
"""Decode the values of messages into typed columns: the options, the decoder, and a module for each kind of value."""
