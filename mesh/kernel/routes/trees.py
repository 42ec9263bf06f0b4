"""Reports how far each node is from the masters of a domain, by asking all nodes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from msgspec.structs import replace

from mesh.kernel.context.component import Component
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.pages import NAMES, ROWS, fitting
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.routes.strata import LiveStrata
from mesh.mapping.mapping import Mapping
from mesh.mapping.strata import NOWHERE, Distance, heard
from mesh.values import check_domain
from mesh.wire.calls import AskTree
from mesh.wire.limits import FOLLOWED, HOPS
from mesh.wire.replies import Tree, TreeRow

BROKEN = 16  # obstacles per node
WORD, SAYS = 64, 200  # characters of a name, of a reason

OnTree = Callable[[list[TreeRow], list[str]], None]


class Trees(Component):
    """Component for the verb `tree`.

    In a mesh that restricts links, each node asks the nodes behind it.
    """

    def __init__(
        self, context: NodeContext, mapping: Mapping, nodes: Nodes, questions: PeerCalls, strata: LiveStrata
    ) -> None:
        self._context = context
        self._mapping = mapping
        self._nodes = nodes
        self._questions = questions
        self._strata = strata

    def client_verbs(self) -> tuple[Verb, ...]:
        return (answer(AskTree, self._on_tree),)

    def peer_verbs(self) -> tuple[Verb, ...]:
        return (answer(AskTree, self._asked_by_node),)

    def _on_tree(self, asked: IncomingCall[AskTree]) -> None:
        """Answer for a domain, or list the domains. Raises: LocalError for an invalid domain."""
        ask = asked.ask
        check_domain(ask.domain)
        if not ask.domain:
            asked.reply(Tree(domains=fitting(self._mapping.named_domains(), FOLLOWED)))
            return
        self._questions.when_settled(lambda: self._answer_domain(asked, is_further=True))

    def _asked_by_node(self, asked: IncomingCall[AskTree]) -> None:
        check_domain(asked.ask.domain)
        self._answer_domain(
            asked, is_further=not self._nodes.is_open
        )  # otherwise the requester asks the others

    def _answer_domain(self, asked: IncomingCall[AskTree], is_further: bool) -> None:
        domain = asked.ask.domain

        def said(rows: list[TreeRow], missing: list[str]) -> None:
            known = {row.node: row for row in [*rows, self._own(domain)]}
            found = fitting([known[node] for node in sorted(known)], ROWS)
            asked.reply(Tree(domain=domain, rows=found, missing=sorted(set(missing))[:NAMES]))

        def looked() -> None:
            if is_further:
                self._ask_nodes(asked.ask, said)
            else:
                said([], [])

        self._strata.when_measured(domain, looked)

    def _own(self, domain: str) -> TreeRow:
        me = self._context.me.name
        own = self._strata.own.get(domain, NOWHERE)
        claims = self._mapping.of_domain(domain, self._nodes)
        by = next((claim.by for claim in claims if claim.node == me), "")
        broken = ((claim.node, says[:SAYS]) for claim, says in self._strata.explain_claims(domain) if says)
        return _row(me, own, by, list(islice(broken, BROKEN)))

    def _ask_nodes(self, ask: AskTree, then: OnTree) -> None:
        peers = {peer.node.uuid: peer for peer in self._nodes.askable(ask.visited)}
        names = [*ask.visited, self._context.me.name, *(peer.node.name for peer in peers.values())]
        further = replace(ask, visited=names[:ROWS])

        def came(replies: Replies[Tree], missing: list[str]) -> None:
            rows = list[TreeRow]()
            for uuid, told in replies.items():
                name = peers[uuid].node.name
                if told.code:  # of an older release
                    missing.append(name)
                others = () if self._nodes.is_open else told.value.rows[:ROWS]  # of nodes behind it
                rows += [row for row in map(_read, others) if row is not None and row.node not in names]
                rows += [row for row in map(_read, told.value.rows) if row is not None and row.node == name]
                missing += [each[:WORD] for each in told.value.missing[:NAMES]]
            then(rows, missing)

        self._questions.ask_all(peers.values(), further, Tree, came, min(CONFIRM, ask.within))


def _row(node: str, own: Distance, by: str, broken: list[tuple[str, str]]) -> TreeRow:
    return TreeRow(
        node=node, stratum=own.stratum, way=list(own.way), latency=own.latency, by=by, broken=broken
    )


def _read(row: TreeRow) -> TreeRow | None:
    """Return the row of another node if it is valid, truncated to the limits, otherwise None."""
    own = heard(row.node, row.way[: HOPS + 1], row.latency)
    if own is None:
        return None
    broken = [(node[:WORD], says[:SAYS]) for node, says in row.broken[:BROKEN]]
    return _row(row.node[:WORD], own, row.by[:SAYS], broken)
