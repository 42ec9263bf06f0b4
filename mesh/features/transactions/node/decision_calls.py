"""The verbs of prepared transactions: a list over all nodes, and decisions, which go to the node of each."""

# Law: a transaction is decided by the user who prepared it, from any session and node, or by an operator.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from mesh.errors import BadArgument, LocalError
from mesh.features.transactions.model.prepared import COMMITTED, REFUSED
from mesh.features.transactions.node.prepared import PreparedTransactions
from mesh.features.transactions.node.prepared_transaction import Prepared
from mesh.features.transactions.node.several_stores import SeveralStores
from mesh.kernel.context.component import Component
from mesh.kernel.context.conn import NODE
from mesh.kernel.context.incoming_call import IncomingCall, Right, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.printable import count
from mesh.reasons.reason import ago, reason
from mesh.reasons.what import TX, What
from mesh.wire.calls import AskDecision, AskTransactions
from mesh.wire.limits import HOPS, TRANSACTIONS
from mesh.wire.replies import Decided, Reason, TransactionRow, TransactionRows

COMMIT, ROLLBACK = "commit", "rollback"
SAID = {COMMITTED: "committed", REFUSED: "rolled back"}


class DecisionCalls(Component):
    """Component with the verbs `tx_ls` and `tx_decide`."""

    def __init__(
        self,
        context: NodeContext,
        nodes: Nodes,
        questions: PeerCalls,
        prepared: PreparedTransactions,
        several: SeveralStores,
    ) -> None:
        self._context, self._nodes, self._questions = context, nodes, questions
        self._prepared, self._several = prepared, several

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskTransactions, self._on_list), answer(AskDecision, self._on_decision, Right.WRITE))

    def peer_verbs(self) -> Sequence[Verb]:
        return (
            answer(AskTransactions, self._on_list_of_node),
            answer(AskDecision, lambda asked: self._decide(asked, asked.ask)),
        )

    def explain(self, what: What) -> Iterator[Reason]:
        node, _, name = what.text.partition("/")
        if what.kind != TX or node != self._context.me.name:
            return
        for it in [it for it in self._prepared if it.row.name == name]:
            age = ago((self._context.clock.believed - it.row.since) / 1e9)
            n = count(it.row.operations, "operation")
            is_finishing = it.key in self._several.finishing
            yield reason("TX_FINISHING" if is_finishing else "TX_PREPARED", name=what.text, age=age, n=n)
        if outcome := self._prepared.outcome_of(name):
            yield reason("TX_DECIDED", name=what.text, outcome=SAID[outcome])

    # --- list -------------------------------------------------------------------------------------------

    def _on_list_of_node(self, asked: IncomingCall[AskTransactions]) -> None:
        asked.reply(TransactionRows(transactions=self._rows(asked.ask)))

    def _on_list(self, asked: IncomingCall[AskTransactions]) -> None:
        if asked.ask.all:
            asked.check_keys()
        ask = replace(asked.ask, user=asked.conn.user)

        def came(replies: Replies[TransactionRows], missing: list[str]) -> None:
            rows = [*self._rows(ask), *(row for each in replies.values() for row in each.value.transactions)]
            rows.sort(key=lambda row: (row.name, row.node))
            away = sorted({*missing, *self._nodes.unasked()})[:NAMES]
            asked.reply(TransactionRows(transactions=rows, missing=away))

        def begin() -> None:
            peers = [peer for peer in self._nodes.askable() if TRANSACTIONS in peer.speaks]
            self._questions.ask_all(peers, ask, TransactionRows, came)

        self._questions.when_settled(begin)

    def _rows(self, ask: AskTransactions) -> list[TransactionRow]:
        """Return the transactions of this node that the question is about."""
        rows = [self._row(it) for it in self._prepared if ask.all or it.row.user == ask.user]
        known = {it.key for it in self._prepared}
        others = [key for key in self._several.finishing if ask.all and key not in known]
        me = self._context.me.name
        return [*rows, *(TransactionRow(name="", node=me, state="finishing") for _ in others)]

    def _row(self, it: Prepared) -> TransactionRow:
        me = self._context.me.name
        is_finishing = it.key in self._several.finishing
        return TransactionRow(
            name=f"{me}/{it.row.name}",
            node=me,
            state="finishing" if is_finishing else "prepared",
            since=it.row.since,
            operations=it.row.operations,
            bytes=it.row.size,
            user=it.row.user,
            queues=it.queues[:NAMES],
        )

    # --- decisions --------------------------------------------------------------------------------------

    def _on_decision(self, asked: IncomingCall[AskDecision]) -> None:
        is_operator = asked.conn.grant == NODE
        self._decide(asked, replace(asked.ask, user=asked.conn.user, is_operator=is_operator))

    def _decide(self, asked: IncomingCall[AskDecision], ask: AskDecision) -> None:
        if ask.do not in (COMMIT, ROLLBACK):
            raise BadArgument(f"A transaction is decided by {COMMIT!r} or {ROLLBACK!r}.")
        node, _, name = ask.name.partition("/")
        if node != self._context.me.name:
            self._pass_on(asked, node, ask)
            return

        def decided(outcome: str | LocalError) -> None:
            if isinstance(outcome, LocalError):
                asked.fail(outcome)
            else:
                asked.reply(Decided(outcome=outcome))

        is_own = not ask.is_operator or self._prepared.is_known(name, ask.user)
        self._prepared.decide(name, ask.user if is_own else None, ask.do == COMMIT, decided)

    def _pass_on(self, asked: IncomingCall[AskDecision], node: str, ask: AskDecision) -> None:
        """Send a decision on to the node of its transaction, and the reply back."""
        me = self._context.me.name
        peer = self._nodes.next_hop(node) if len(ask.visited) < HOPS else None
        if peer is None or peer.node.name in ask.visited:
            asked.fail(_away(node, me))
            return

        def came(replies: Replies[Decided], _: list[str]) -> None:
            for reply in replies.values():
                if reply.code:
                    what = f"{node} refused the decision about {ask.name!r}."
                    asked.fail(LocalError(what, hint="See `mesh tx ls`.", code=reply.code))
                else:
                    asked.reply(reply.value)
                return
            asked.fail(_away(node, me))

        further = replace(ask, visited=[*ask.visited, me])
        self._questions.ask_all([peer], further, Decided, came, is_patient=True)


def _away(node: str, me: str) -> LocalError:
    what = f"The node {node} of the transaction cannot be reached from {me}."
    return LocalError(what, hint=f"See `mesh why node {node}`, and decide again.", code="NODE_AWAY")
