"""Answers clients whose sessions moved about the outcomes of transactions at their former nodes."""

# Law 1: only the node that the session's newest certificate names gets an outcome of another node.
# Law 2: a node that was asked accepts no COMMIT of an earlier visit any more.

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.transactions.model.outcomes import Outcome
from mesh.features.transactions.node.commits import Commits
from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.routes.peer_calls import PeerReply
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.visiting import Visiting
from mesh.wire.calls import AskTxOutcome
from mesh.wire.replies import TxOutcome

WITHIN = 5.0  # s for the reply of the former node
AWAY = "NODE_AWAY"


class OutcomeQuestions(Component):
    """Component that answers `tx_outcome`, or asks the former node."""

    def __init__(
        self, context: NodeContext, calls: RelayedCalls, visiting: Visiting, commits: Commits
    ) -> None:
        self._context, self._calls = context, calls
        self._visiting, self._commits = visiting, commits

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskTxOutcome, self._on_client, Right.WRITE),)

    def peer_verbs(self) -> Sequence[Verb]:
        return (self._calls.answer(AskTxOutcome, TxOutcome, self._on_peer),)

    def _on_client(self, asked: IncomingCall[AskTxOutcome]) -> None:
        ask, session, certificate = asked.ask, asked.who, asked.ask.certificate
        if (certificate.session, certificate.stream) != (session.text, session.stream):
            raise LocalError("The certificate is for another session.", code="FORGED_VISIT")
        check_certificate(self._context, certificate, self._context.me.uuid)
        if ask.target in (b"", self._context.me.uuid):
            self._decide(asked)
            return

        def came(reply: PeerReply[TxOutcome] | None) -> None:
            if reply is None:
                asked.fail(_away())
            elif reply.code:
                asked.fail(LocalError("The former node did not return the outcome.", code=reply.code))
            else:
                asked.reply(reply.value)

        further = replace(ask, target=b"", visited=[], within=WITHIN)
        if not self._calls.ask(ask.target, further, TxOutcome, came, WITHIN):
            raise _away()

    def _on_peer(self, asked: IncomingCall[AskTxOutcome], node: bytes) -> None:
        check_certificate(self._context, asked.ask.certificate, node)
        self._visiting.leave(asked.ask.certificate)
        self._decide(asked)

    def _decide(self, asked: IncomingCall[AskTxOutcome]) -> None:
        ask = asked.ask

        def answer_outcome(outcome: Outcome) -> None:
            asked.reply(
                TxOutcome(
                    outcome="refused" if outcome.code else "committed",
                    answers=[(each.state, each.matched, each.text) for each in outcome.answers],
                    code=outcome.code,
                    text=outcome.text,
                    index=outcome.index,
                )
            )

        self._commits.decide(ask.certificate.stream, ask.count, ask.low, answer_outcome)


def _away() -> LocalError:
    what = "The former node of the session cannot be reached."
    return LocalError(what, hint="The client asks again.", code=AWAY)
