"""Keeps masters and their backups in step, so that each can continue where another one stopped."""

# Law 1: each of these nodes subscribes at all others to everything that they accept. So every accepted
# message is owed to some node, even while another one is disconnected.
# Law 2: each node also asks every other node once for its earlier values, and again after either has
# restarted.

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, PeerJoined, PeerLost
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.nodes import Nodes
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.rules.inheriting import query_of
from mesh.kernel.subscribers.copies import Copies
from mesh.mapping.mapping import Mapping
from mesh.routing.interest import STANDBY
from mesh.wire.calls import AskGet
from mesh.wire.commands import Query
from mesh.wire.replies import Values

RETRY = 5.0  # s until a node without a reply is asked again


class Standby(Component):
    """Component of a master with backups, and of a backup."""

    def __init__(
        self,
        context: NodeContext,
        mapping: Mapping,
        nodes: Nodes,
        demand: InterestSync,
        questions: PeerCalls,
        copies: Copies,
    ) -> None:
        self._context = context
        self._mapping = mapping
        self._nodes = nodes
        self._demand = demand
        self._questions = questions
        self._copies = copies
        self._queries: dict[Query, tuple[str, ...]] = {}  # query -> nodes that are asked
        self._had: dict[tuple[bytes, Query], int] = {}  # boot whose values were all received
        self._again: dict[str, float] = {}  # node -> time of the next attempt

    def start(self, beginning: Beginning) -> None:
        rules = self._mapping.rules if self._mapping.has_backups else ()
        for query in dict.fromkeys(query_of(key) for rule in rules for key in rule.alternatives()):
            if partners := self._mapping.partners(query.kind, query.text, query.domain):
                self._queries[query] = partners
                self._demand.want(query, by=STANDBY)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._fetch_values(fact.peer)),
            on_fact(PeerJoined, lambda fact: self._report_master(fact.peer, is_back=True)),
            on_fact(PeerLost, lambda fact: self._report_master(fact.peer, is_back=False)),
        )

    # --- values -------------------------------------------------------------------------------------------

    def _fetch_values(self, peer: Peer) -> None:
        for query in self._open(peer):
            ask = AskGet(
                kind=query.kind, text=query.text, domain=query.domain, visited=[self._context.me.name]
            )

            def came(replies: Replies[Values], missing: list[str], query: Query = query) -> None:
                self._on_values(peer, query, replies, is_whole=not missing)

            self._questions.ask_all([peer], ask, Values, came, is_patient=True, extends=True)

    def _open(self, peer: Peer) -> Iterator[Query]:
        for query, partners in self._queries.items():
            if peer.node.name in partners and self._had.get((peer.node.uuid, query)) != peer.node.boot:
                yield query

    def _on_values(self, peer: Peer, query: Query, replies: Replies[Values], is_whole: bool) -> None:
        """Store the values that came, and ask again later if some are missing."""
        if is_whole and not any(told.code for told in replies.values()):
            self._had[peer.node.uuid, query] = peer.node.boot
        else:
            self._again[peer.node.name] = self._context.clock.now + RETRY
            self._context.clock.wake(self._context.clock.now + RETRY)
        found = (envelope for told in replies.values() for envelope, _ in told.found)
        if count := self._copies.store_copies(found):
            values = "retained value" if count == 1 else "retained values"
            self._context.event("rules", f"took over {count:,} {values} from {peer.node.name}", peer.node)

    def tick(self) -> None:
        for name in [name for name, at in self._again.items() if at <= self._context.clock.now]:
            del self._again[name]
            peer = self._nodes.named(name)
            if peer is not None and peer.data is not None:
                self._fetch_values(peer)
        if self._again:
            self._context.clock.wake(min(self._again.values()))

    # --- events -------------------------------------------------------------------------------------------

    def _report_master(self, peer: Peer, is_back: bool) -> None:
        what = self._mapping.stands_in_for(peer.node.name)
        if what:
            text = (
                "is reachable again: it is the master of"
                if is_back
                else "is unreachable: this node, or an earlier backup, is the master of"
            )
            topics = ", ".join(what)
            self._context.event("rules", f"{peer.node.name} {text} {topics}", peer.node)
