"""Reports that a client's node has been unreachable for some time, while calls or messages wait."""

from __future__ import annotations

from collections.abc import Callable

from mesh.client.core.client_context import ClientContext, Timer
from mesh.client.core.effects import Report
from mesh.errors import MeshError, NodeNotFound

AWAY = 5.0  # s without a node before the first report
AWAY_AGAIN = 60.0  # s between later reports
UNANSWERED = (
    "Check that the node runs. If so, run `mesh why client NAME` on its machine: the node may have too many "
    "connections (limits.connections)."
)


def unanswered(address: str, is_silent: bool) -> NodeNotFound:
    """Return the error for an address without an answer; the connection was accepted if `is_silent`."""
    what = "did not answer" if is_silent else "accepted no connection, or closed it without an answer"
    return NodeNotFound(f"{address} {what}.", hint=UNANSWERED)


def missing(node: str, why: MeshError | None, waiting: str) -> str:
    """Return a text that names the unreachable node and the work that waits for it, or "" if none waits."""
    reason = "" if why is None else f" ({why.what.rstrip('.')})"
    return f"{node or 'the node'}{reason}; waiting for it: {waiting}" if waiting else ""


class Absence:
    """Reports how long the client has been without a node.

    `waiting` returns the text of a report, or "" if nothing waits for the node.
    """

    def __init__(self, context: ClientContext, waiting: Callable[[], str]) -> None:
        self._context, self._waiting = context, waiting
        self._since = 0.0
        self._timer = Timer(context)

    def start_reports(self, since: float) -> None:
        """Start the reports about a node that has been silent since the time `since`.

        The first report follows AWAY s after `since`, and later ones every AWAY_AGAIN s. A report
        without a text is left out. Scheduled reports of an earlier call are canceled.
        """
        self._since = since
        self._later(AWAY - (self._context.now - since))

    def cancel(self) -> None:
        self._timer.cancel()

    def _later(self, seconds: float) -> None:
        self._timer.schedule(max(0.0, seconds), self._ring)

    def _ring(self) -> None:
        if waiting := self._waiting():
            self._context.do(
                Report("waiting", f"unreachable for {self._context.now - self._since:.0f} s: {waiting}")
            )
        self._later(AWAY_AGAIN)
