# SPDX-License-Identifier: Apache-2.0
"""What publishers and subscribers of a remote bus have in common: a number, and a link that calls back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slipring._bus.pickling import Unpicklable
from slipring.errors import SlipringError

from . import wire

if TYPE_CHECKING:
    from .desk import Call
    from .link import Link


class Handle(Unpicklable):
    """Opened and left by requests; the methods from `reopening` on are called by the link's thread."""

    _link: Link
    handle: int

    def _leave(self, request: str, **content: Any) -> None:
        """Tell the server, and wait until it knows."""
        self._link.handles.pop(self.handle, None)
        try:
            self._link.request(request, handle=self.handle, **content)
        except SlipringError:
            return  # the server ends it with the session

    def _let_go(self, request: str, **content: Any) -> None:
        """Tell the server without waiting: a handle that nobody uses any more."""
        if self._link.is_forked:
            return
        letter = {"request": request, "handle": self.handle, **content}
        self._link.desk.post(wire.with_json(wire.REQUEST, self._link.number(), content=letter))

    def reopening(self) -> Call | None:
        """What is asked first on a new connection."""
        raise NotImplementedError

    def on_letter(self, letter: wire.Letter) -> None:
        """Something came for this handle."""

    def on_break(self) -> None:
        """The connection is lost; another one is tried."""

    def on_end(self, error: Exception) -> None:
        """There will be no other one."""
