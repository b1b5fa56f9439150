# SPDX-License-Identifier: Apache-2.0
"""The server: exports one bus of this host to clients, in one thread. Sequences and the order of messages come from
the rings; a kill loses nothing but what the origin files can restore.

A remote subscriber's message: readable_watch (which subscription can be read) -> pump -> server_subscription (read,
window) -> client_session (in pieces) -> server_socket. A remote publisher's: server_socket -> server ->
server_publisher (publish once).
"""
