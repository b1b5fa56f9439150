# SPDX-License-Identifier: Apache-2.0
"""The client: a bus of another host, its publishers and its subscribers, over one connection that is replaced when it
breaks. What was not answered is sent again, and done once.

A message arrives: connection -> link -> subscriber (arrivals keeps the counts); then recv takes it, and the
acknowledgement goes through request_queue -> link -> connection.
"""
