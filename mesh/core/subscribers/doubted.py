"""Holds items whose senders are in doubt, and passes the others on with the forged ones marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mesh.core.access.authenticator import plain
from mesh.core.context.component import Component, HandlerEntry, on_command
from mesh.core.context.conn import Conn
from mesh.core.context.facts import Hearing, on_fact
from mesh.core.context.node_context import NodeContext
from mesh.core.peers.facts import LoggedIn, LoggedOut
from mesh.core.peers.held import EACH, WINDOWS
from mesh.core.peers.neighbours import Neighbours
from mesh.core.peers.peer import Peer
from mesh.core.routes.facts import RulesChanged
from mesh.core.states.facts import StateReceived
from mesh.core.subscribers.origins import Origins, Verdict
from mesh.core.subscribers.solicited import Solicited
from mesh.errors import RemoteError
from mesh.sites.hops import inside
from mesh.wire.commands import Items
from mesh.wire.envelope import Envelope

PATIENCE = 5.0  # s in which each node is heard, or a peer can prove a route
ASK = 0.25  # s between two checks
SAY_AGAIN = 600.0  # s until a peer is reported again
NONE: frozenset[int] = frozenset()

# Called with the indices of the envelopes that are forged.
TakeItems = Callable[[Conn, Peer, Items, list[Envelope], frozenset[int]], None]


@dataclass(slots=True)
class HeldItems:
    """The item messages of one peer that wait, the first of them in doubt, with the time of each."""

    messages: list[tuple[float, Conn, Items, list[Envelope]]] = field(default_factory=list)
    size: int = 0


class DoubtedItems(Component):
    """Component that checks the senders of items before they are accepted.

    An item message in doubt, and all later ones of its peer, are held before their numbers count. If the
    connection ends, the next one resends them.
    """

    def __init__(
        self,
        desk: NodeContext,
        neighbours: Neighbours,
        origins: Origins,
        solicited: Solicited,
        take_items: TakeItems,
    ) -> None:
        self.origins = origins
        self._solicited = solicited
        self._desk = desk
        self._neighbours = neighbours
        self._take = take_items
        self._most = WINDOWS * (desk.settings.window_bytes + EACH * desk.settings.window_count)
        self._held: dict[Peer, HeldItems] = {}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self.origins.logged_in(fact.peer)),
            on_fact(LoggedOut, self._on_logged_out),
            on_fact(RulesChanged, lambda fact: self.origins.ruled(fact.rules)),
            on_fact(StateReceived, self._on_state),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Items, self._on_items),)

    def tick(self) -> None:
        if self._held:
            self._review()

    def _on_logged_out(self, fact: LoggedOut) -> None:
        self._held.pop(fact.peer, None)

    def _on_state(self, fact: StateReceived) -> None:
        state = fact.known.state
        peer = self._neighbours.peers.get(state.uuid)
        if peer is not None and peer.node.name == state.name:
            self.origins.declared(state.name, state.ways)

    def _on_items(self, conn: Conn, peer: Peer, command: Items, envelopes: list[Envelope]) -> None:
        homes = peer.exchange.homes
        if not self._held:
            for envelope in envelopes:
                if not (envelope.sender.startswith(homes) or self.origins.is_explained(peer, envelope)):
                    break
            else:
                self._take(conn, peer, command, envelopes, NONE)
                return
        forged = None if peer in self._held else self._forged(peer, command, envelopes)
        if forged is None:
            self._hold(conn, peer, command, envelopes)
        else:
            self._take(conn, peer, command, envelopes, forged)

    def _hold(self, conn: Conn, peer: Peer, command: Items, envelopes: list[Envelope]) -> None:
        """Hold an item message. Raises: RemoteError if too much waits."""
        held = self._held.setdefault(peer, HeldItems())
        held.messages.append((self._desk.now, conn, command, envelopes))
        held.size += sum(EACH + len(envelope.body) + len(envelope.xml) for envelope in envelopes)
        if held.size > self._most:
            del self._held[peer]
            text = f"{peer.node.name} sends more than {self._most} bytes behind a sender in doubt"
            raise RemoteError(text, code="FORGED_SENDER")
        self._desk.wake(self._desk.now + ASK)

    def _review(self) -> None:
        """Pass on the item messages that are no longer in doubt."""
        for peer, held in list(self._held.items()):
            del self._held[peer]
            while held.messages:
                since, conn, command, envelopes = held.messages[0]
                if conn.closed or peer.data is not conn:
                    break
                forged = self._forged(peer, command, envelopes, since)
                if forged is None:
                    self._held[peer] = held
                    self._desk.wake(self._desk.now + ASK)
                    break
                del held.messages[0]
                held.size -= sum(EACH + len(envelope.body) + len(envelope.xml) for envelope in envelopes)
                try:
                    self._take(conn, peer, command, envelopes, forged)
                except RemoteError as error:
                    self._desk.broke_protocol(conn, peer.node.name, peer.node, error)

    def _forged(
        self, peer: Peer, command: Items, envelopes: list[Envelope], since: float | None = None
    ) -> frozenset[int] | None:
        """Return the indices of the forged envelopes, or None if one is in doubt and `since` is recent."""
        if command.seq <= peer.exchange.inlet.have:
            return NONE  # a repeat, which is not accepted
        verdicts = list[Verdict]()
        for head, envelope in zip(command.heads, envelopes, strict=True):
            master = head.master or peer.node.uuid
            verdict = self.origins.check(peer, envelope, master)
            if verdict is not Verdict.TAKE and self._solicited.part(peer, master, envelope) is None:
                verdict = Verdict.TAKE  # it is refused as unrequested
            if verdict is Verdict.DOUBT:
                if since is None or self._desk.now < since + PATIENCE:
                    self.origins.ask(peer, envelope)
                    return None
                verdict = self.origins.settle(peer, envelope, since)
            verdicts.append(verdict)
        for envelope, verdict in zip(envelopes, verdicts, strict=True):
            if verdict is not Verdict.TAKE:
                self.report(peer, envelope, verdict is Verdict.FORGED)
        return frozenset([i for i, verdict in enumerate(verdicts) if verdict is Verdict.FORGED])

    def report(self, peer: Peer, envelope: Envelope, is_forged: bool) -> str:
        """Count and report an envelope that is forged, or that may be, and return the text."""
        x, now = peer.exchange, self._desk.now
        sender = plain(envelope.sender)[:80] or "nobody"
        path = " -> ".join(plain(hop.node) for hop in inside(envelope.route))[:200]
        text = f"{peer.node.name} sends {envelope.keys[0][:80]!r} as {sender!r} by {path or 'no route'}"
        if is_forged:
            self._desk.count("forged", envelope.count)
            text = f"{text}, which no rule or declared way explains: it is dropped"
            hint = "check the software of these nodes, and the rules and sites of this one [FORGED_SENDER]"
        else:
            text = f"{text}, which nobody can confirm: it is accepted"
            hint = "give this node the rules of the others"
        told = peer.forged_told if is_forged else x.doubt_told
        if now - told >= SAY_AGAIN:
            peer.forged_told, x.doubt_told = (now, x.doubt_told) if is_forged else (peer.forged_told, now)
            self._desk.event("refused" if is_forged else "link", f"{text}; {hint}", peer.node, "warning")
        return text
