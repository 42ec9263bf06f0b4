"""Checks the senders of items, and reports forged and unconfirmed items."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.hops import inside
from mesh.kernel.access.authenticator import plain
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RulesChanged
from mesh.kernel.states.facts import StateReceived
from mesh.kernel.subscribers.origins import Origins, Verdict
from mesh.kernel.subscribers.solicited import Solicited
from mesh.wire.commands import Items
from mesh.wire.envelope import Envelope

NONE: frozenset[int] = frozenset()

# Called with the indices of the envelopes that are forged.
TakeItems = Callable[[Conn, Peer, Items, list[Envelope], frozenset[int]], None]


class SenderCheck(Component):
    """Component that checks the senders of items, and passes the items on with the indices of forged ones.

    `take_items` accepts the items. An item is unconfirmed if a node on its route has not declared the next
    one. Such an item is not held back, because later messages of its stream may arrive from another peer and
    would overtake it.
    """

    def __init__(
        self,
        context: NodeContext,
        neighbours: Neighbours,
        origins: Origins,
        solicited: Solicited,
        take_items: TakeItems,
    ) -> None:
        self.origins = origins
        self._solicited = solicited
        self._context = context
        self._neighbours = neighbours
        self._take = take_items

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self.origins.logged_in(fact.peer)),
            on_fact(RulesChanged, lambda fact: self.origins.ruled(fact.rules)),
            on_fact(StateReceived, self._on_state),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Items, self._on_items),)

    def _on_state(self, fact: StateReceived) -> None:
        state = fact.known.state
        peer = self._neighbours.peers.get(state.uuid)
        if peer is not None and peer.node.name == state.name:
            self.origins.declared(state.name, state.ways)

    def _on_items(self, conn: Conn, peer: Peer, command: Items, envelopes: list[Envelope]) -> None:
        homes, forged = peer.exchange.homes, NONE
        for envelope in envelopes:
            if not (envelope.sender.startswith(homes) or self.origins.is_explained(peer, envelope)):
                forged = self._forged(peer, command, envelopes)
                break
        self._take(conn, peer, command, envelopes, forged)

    def _forged(self, peer: Peer, command: Items, envelopes: list[Envelope]) -> frozenset[int]:
        """Return the indices of forged envelopes that were requested; report them and unconfirmed ones."""
        if command.seq <= peer.exchange.inlet.have:
            return NONE  # a repeat, which is not accepted
        forged = set[int]()
        for i, (head, envelope) in enumerate(zip(command.heads, envelopes, strict=True)):
            master = head.master or peer.node.uuid
            verdict = self.origins.check_origin(peer, envelope, master)
            if verdict is Verdict.TAKE or self._solicited.requested_part(peer, master, envelope) is None:
                continue  # an unrequested item is refused as such
            self.report(peer, envelope, verdict is Verdict.FORGED)
            if verdict is Verdict.FORGED:
                forged.add(i)
        return frozenset(forged)

    def report(self, peer: Peer, envelope: Envelope, is_forged: bool) -> str:
        """Report a forged or unconfirmed envelope, count a forged one, and return the text of the report.

        For each peer, an event of each of the two kinds is emitted at most every 10 minutes.
        """
        sender = plain(envelope.sender)[:80] or "no sender"
        path = " -> ".join(plain(hop.node) for hop in inside(envelope.route))[:200]
        text = f"{peer.node.name} sends {envelope.keys[0][:80]!r} as {sender!r} by {path or 'no route'}"
        if is_forged:
            self._context.counters.add_count("forged", envelope.count)
            text = f"{text}, which no rule or route explains: the message is dropped"
            hint = "check the software of these nodes, and the rules and sites of this one [FORGED_SENDER]"
        else:
            text = f"{text}, which no declared next hop confirms: the message is accepted"
            hint = "give this node the rules of the others"
        reports = peer.forged if is_forged else peer.exchange.doubts
        if reports.allows(self._context.clock.now):
            self._context.event("refused" if is_forged else "link", f"{text}; {hint}", peer.node, "warning")
        return text
