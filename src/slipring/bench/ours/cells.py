# SPDX-License-Identifier: Apache-2.0
"""Cells as they are measured: bytes, depth 4, the reader takes the newest."""

import slipring
from slipring.bench.transport import Receive, Send, Transport


class Cells(Transport):
    """Values are copied in and out."""

    copy = True

    def __init__(self, place, size, channels=("there",)):
        super().__init__(place, size, channels)
        self.bus = slipring.Bus("bench", root=place)
        self.cells = self.bus.cells("there", size=size, depth=4)

    def sender(self, channel: str) -> Send:
        return self.cells.writer().put

    def receiver(self, channel: str) -> Receive:
        reader, copy = self.cells.reader(), self.copy
        return lambda: reader.latest(copy=copy)

    def close(self) -> None:
        self.bus.close()


class CellsInPlace(Cells):
    """The reader gets a view: nothing is copied out."""

    copy = False


TRANSPORTS = {"slipring-cells": Cells, "slipring-cells-in-place": CellsInPlace}
