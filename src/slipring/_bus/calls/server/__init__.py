# SPDX-License-Identifier: Apache-2.0
"""The server of calls: offers methods under a service's name, runs the calls to them, and replies.

Contract: a service has one living server; a method blocks neither other calls nor cancellations; a client that does
not read costs bounded memory and no thread.

server          what programs use                     presence         who serves
dispatcher      receive, admit, run, reply            worker_threads   the threads that do it
method_call     one call, its method, its errors      async_methods    the tasks of async methods
client_replies  answers, and those without room       server_stream    answers in parts
annotated_methods   arguments and values, checked by the annotations of a method
"""
