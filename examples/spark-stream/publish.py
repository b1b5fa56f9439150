# SPDX-License-Identifier: Apache-2.0
"""A sensor that must not lose a reading: a reliable topic, records of numpy's."""

import sys

import numpy

import slipring

READING = numpy.dtype([("place", "S8"), ("celsius", "<f4")])

bus = slipring.Bus("plant")
bus.create("readings", delivery="reliable", capacity="1MiB")
with bus.publisher("readings", sender="thermometer") as readings:
    for number in range(int(sys.argv[1])):
        place, celsius = (b"kitchen", 20.0) if number % 2 else (b"cellar", 10.0)
        readings.send(numpy.array((place, celsius), READING).tobytes(), type="reading.v1")
