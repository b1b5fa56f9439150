# SPDX-License-Identifier: Apache-2.0
"""The Spark half of the demo: the robot's traffic recorded, summed up, replayed, reported on, and added up.

job         the program that runs beside the robot: records all topics, and publishes sums of them on "traffic"
callers     the program of a call server and a client, so that there are calls to report on
pipeline    starts these programs, kills the job once, ends them, and tells how they fare
aftermath   lets the recording be examined, and adds claims to the audit
proof       the program for afterwards: checks the lake, replays it, writes the report
ledger      pure functions: counters of the bus and of the lake -> claims
"""
