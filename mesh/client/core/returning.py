"""Returns a client to the node that its user prefers, with `fail_back="when_idle"`."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import ClientContext, Timer
from mesh.client.core.fail_back import FailBack
from mesh.client.core.node_connection import NodeConnection
from mesh.client.options import FailBackPolicy
from mesh.wire import commands as c
from mesh.wire.calls import AskLocate, arguments
from mesh.wire.replies import Located

CHECK = 15.0  # s between questions whether the preferred node is up


class Returning:
    """The checks of a client that is not at its preferred node, the first that the user named.

    `is_idle` returns whether nothing of the client is unanswered or unsettled. `leave` takes the function
    that lets the client search for the next node.
    """

    def __init__(
        self,
        context: ClientContext,
        line: NodeConnection,
        calls: Calls,
        policy: FailBackPolicy,
        is_idle: Callable[[], bool],
        leave: Callable[[Callable[[], None]], None],
    ) -> None:
        self._context, self._line, self._calls, self._is_idle = context, line, calls, is_idle
        self._leave = leave
        self._fail_back = FailBack(policy)
        self._up_since: float | None = None  # when the preferred node was first seen alive
        self._timer = Timer(context)
        self._pending: Pending | None = None

    def on_welcome(self) -> None:
        """Begin to check, unless this is the preferred node or the client stays where it is."""
        self._up_since = None
        self.cancel()
        if self._fail_back.is_wanted and self._line.choice.preferred not in ("", self._line.home):
            self._check_later()

    def cancel(self) -> None:
        self._timer.cancel()
        if self._pending is not None:
            self._calls.drop_pending(self._pending)
        self._pending = None

    def _check_later(self) -> None:
        self._timer.schedule(CHECK, self._check)

    def _check(self) -> None:
        """Ask the node whether it sees the preferred node alive. A lost connection ends the checks."""
        if not self._line.is_up:
            return
        ask = AskLocate(name=f"node/{self._line.choice.preferred}")
        self._pending = pending = self._calls.send_command(
            lambda request: c.Call(request, ask.verb, arguments(ask)),
            lambda: self._on_located(pending.parts[-1][0]),
        )
        pending.refused = lambda error: self._on_located(None)

    def _on_located(self, value: object) -> None:
        try:
            sightings = msgspec.convert(value, Located).sightings
        except msgspec.ValidationError:
            sightings = []  # of an error, or of another release
        if not any(row.kind == "node" and row.state == "alive" for row in sightings):
            self._up_since = None
        elif self._up_since is None:
            self._up_since = self._context.now
        if self._fail_back.is_due(self._context.now, self._up_since, self._is_idle()):
            self._leave(self._line.return_to_preferred)
        else:
            self._check_later()
