# SPDX-License-Identifier: Apache-2.0
"""Calls: a method of one process called from another, with a deadline, an answer or a stream, and news of deaths.

Contract: each call gets one answer or one error, whatever dies; a call runs at most once; docs/spec/calls.md.

protocol    topics, limits, messages          envelope    messages as bytes
codecs      arguments and values as bytes     arrays      numpy arrays among them
cleanup     topics of crashed clients         runtime     time, liveness, waiting, threads
client/     sends calls, waits for replies    server/     receives calls, runs methods, replies

One call: client/client.py, connection.py, replies.py; server/worker_threads.py, dispatcher.py, method_call.py,
client_replies.py; client/replies.py.
"""
