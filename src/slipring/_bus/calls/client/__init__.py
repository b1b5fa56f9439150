# SPDX-License-Identifier: Apache-2.0
"""The client of calls: finds the living server of a service, sends it calls, and waits for their replies.

Contract: a call ends with a value or an error at its deadline at the latest, or when its server dies.

client         what programs use                 connection     finds the server, sends calls
replies        threads and tasks that wait       client_stream  answers in parts
"""
