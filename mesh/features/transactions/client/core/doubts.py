"""Asks for the outcomes of transactions at nodes where the session was before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mesh.client.core.calls import Calls, Pending
from mesh.client.core.client_context import Alarm, ClientContext
from mesh.errors import MeshError
from mesh.features.transactions.client.core.open_commit import OpenCommit
from mesh.wire import commands as c
from mesh.wire.calls import AskTxOutcome, arguments
from mesh.wire.replies import TxOutcome, read_result

AGAIN = 1.0  # s until a question without an answer is repeated
# Other refusals are temporary, such as those for an unreachable node.
FINAL = ("OUTCOME_EXPIRED", "UNKNOWN_VERB", "FORGED_VISIT", "MALFORMED", "BAD_QUERY", "NOT_ALLOWED")


class Doubts:
    """The questions of one client about outcomes.

    `ended(it, outcome)` is called once for each transaction; with `None` if the outcome stays unknown.
    """

    def __init__(
        self, context: ClientContext, calls: Calls, ended: Callable[[OpenCommit, TxOutcome | None], None]
    ) -> None:
        self._context, self._calls, self._ended = context, calls, ended
        self._pending: dict[int, Pending] = {}  # by the number of the transaction
        self._alarms: dict[int, Alarm] = {}

    def drop_questions(self) -> None:
        """Drop all questions, as their certificate may be outdated."""
        for pending in self._pending.values():
            self._calls.drop_pending(pending)
        for alarm in self._alarms.values():
            alarm.cancel()
        self._pending, self._alarms = {}, {}

    def ask(self, it: OpenCommit, certificate: c.Certificate, low: int) -> None:
        """Ask for an outcome until it is known. `low`: all lower numbers are answered at the node."""
        ask = AskTxOutcome(certificate=certificate, target=it.node, count=it.number, low=low)
        pending = self._pending[it.number] = self._calls.send_command(
            lambda request: c.Call(request, ask.verb, arguments(ask)), partial(self._on_reply, it)
        )
        again = partial(self.ask, it, certificate, low)
        pending.refused = partial(self._on_refused, it, again)

    def _on_reply(self, it: OpenCommit) -> None:
        pending = self._pending.pop(it.number)
        self._ended(it, read_result(TxOutcome, pending.parts[-1][0]))

    def _on_refused(self, it: OpenCommit, again: Callable[[], None], error: MeshError) -> None:
        self._pending.pop(it.number, None)
        if error.code in FINAL:
            self._ended(it, None)
        else:
            self._alarms[it.number] = self._context.later(AGAIN, again)
