# SPDX-License-Identifier: Apache-2.0
"""What the compiled part hands over, as pyarrow takes it."""

from __future__ import annotations


class ArrowBatch:
    """What a batch looks like to the Arrow PyCapsule protocol."""

    __slots__ = ("_capsules",)

    def __init__(self, capsules: tuple[object, object]) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._capsules
