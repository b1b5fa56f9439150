# SPDX-License-Identifier: Apache-2.0
"""Servers and clients: methods, errors, time-outs, streams and many calls at once."""
