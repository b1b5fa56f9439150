# SPDX-License-Identifier: Apache-2.0
"""Numbers and names as people read them: the package's own, under the name the verbs use."""

from slipring.units import counted, duration, frequency, moment, number, printable, size, speed

__all__ = ["counted", "duration", "frequency", "moment", "number", "printable", "size", "speed"]
