# SPDX-License-Identifier: Apache-2.0
"""Calls: a method of one process called from another. The protocol is docs/spec/calls.md.

Both sides:   messages (what is said), encoding and decoding (as bytes), tables (FlatBuffers, read strictly),
              codecs (arguments and values), names (topics), seat (who serves), leftovers (of dead clients),
              ground (time, life, threads: what another kind of bus replaces)
Client:       client (what users hold), connection (topics), inbox (answers to their calls),
              awaiting (for asyncio), pending (one call), stream (answers in parts)
Server:       server (what users hold), desk (requests in), clients (who they are), work (who runs a call),
              crew (threads), job (one call), handling (methods), callers and unsent (answers out),
              streaming (in parts), looping (async methods)
generated/    what flatc makes of docs/spec/call.fbs, for comparison and for programs that prefer it
"""
