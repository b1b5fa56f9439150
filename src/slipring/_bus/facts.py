# SPDX-License-Identifier: Apache-2.0
"""Statistics: a dict that a notebook shows as tables."""

from __future__ import annotations

from typing import Any


class Facts(dict[str, Any]):
    __slots__ = ()

    def _repr_html_(self) -> str:
        from . import notebook  # only notebooks need it

        return notebook.facts(self)
