# SPDX-License-Identifier: Apache-2.0
"""The part of the demo that uses Spark: record the robot's traffic, sum it up, replay it, report on it, check it.

job         the program that runs beside the robot: records all topics, and publishes sums of them on "traffic"
callers     the programs of a call server and a client, so that the report has calls
pipeline    starts these programs, kills the job once, ends them, and shows their progress
examination starts the examination of the recording, and adds claims to the audit
proof       the program of the examination: checks the lake, replays it, writes the report
accounts    pure functions: counters of the bus and of the lake -> claims
"""
