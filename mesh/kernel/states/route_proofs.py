"""Checks routes against the hops that each node declares in its signed state."""

# Rule 1: in a mesh with keys, for a route [a, b, peer], a must name b, and b the peer. The node at the other
# end of a link is known, and its own messages need no such proof.
# Rule 2: only a node itself declares its hops. Other nodes pass the state on, with its signature.
# Rule 3: a declaration of a node known only through a peer counts only for messages that this peer sends.
# Without keys nothing is signed: all nodes then belong to one user.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from mesh.discovery.gossip import StateLine, StateMessage, decode, encode, read
from mesh.discovery.state import NodeState
from mesh.errors import RemoteError
from mesh.flow.bounded import Bounded
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.introductions import as_node, without_metadata
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.states.facts import OwnStateSent, RoutesVouched, StateReceived
from mesh.kernel.states.gossiping import Gossiping, signed_text
from mesh.kernel.states.ways import OwnWays
from mesh.wire import commands as c
from mesh.wire.commands import Introduction
from mesh.wire.limits import HOPS, WAYS

REMEMBERED = 4096  # nodes remembered, even dead ones with messages in transit
BELIEVED = 4096  # routes found valid
AGAIN = 0.25  # s between two questions to one peer


class Vouched(Struct, frozen=True):
    """The hops that a node declared, and its identity."""

    node: Introduction
    line: StateLine
    ways: tuple[str, ...]


class RouteProofs(Component):
    """Component for the proven hops of nodes, which publishes the fact RoutesVouched."""

    def __init__(
        self, context: NodeContext, neighbours: Neighbours, gossiping: Gossiping, ways: OwnWays
    ) -> None:
        self._context = context
        self._keyring = context.settings.keyring
        self._neighbours = neighbours
        self._line_of = gossiping.gossip.line
        self._ours = ways
        self._declared: tuple[str, ...] = ()  # our hops, in our last state
        # By peer (Rule 3; otherwise b"") and name.
        self._said = Bounded[tuple[bytes, str], Vouched](REMEMBERED)
        self._believed: set[tuple[bytes, Sequence[str]]] = set()  # routes, by uuid of the sending peer

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(StateReceived, self._on_state), on_fact(OwnStateSent, self._spoke))

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(c.Ways, lambda conn, peer, command, _: self.on_proofs(peer, command)),)

    def features(self) -> Sequence[str]:
        return (WAYS,)

    # --- verification -----------------------------------------------------------------------------------

    def believes(self, peer: Peer, route: tuple[str, ...]) -> bool:
        """Return whether the peer may send messages that took `route`, which ends at the peer.

        Every route is believed in a mesh without keys, and so is a route without other nodes.
        """
        if len(route) < 2 or self._keyring is None or (peer.node.uuid, route) in self._believed:
            return True
        if not all(self._names(peer, node, way) for node, way in pairwise(route)):
            return False
        if len(self._believed) >= BELIEVED:
            self._believed.clear()
        self._believed.add((peer.node.uuid, route))
        return True

    def denies(self, peer: Peer, route: Sequence[str]) -> bool:
        """Return whether a node on this route declares hops that do not include the next node."""
        found = ((self._found(peer, node), way) for node, way in pairwise(route))
        return any(said is not None and way not in said.ways for said, way in found)

    def _names(self, peer: Peer, node: str, way: str) -> bool:
        said = self._found(peer, node)
        return said is not None and way in said.ways

    def _found(self, peer: Peer, node: str) -> Vouched | None:
        """Return the declaration of a node; one sent by `peer` counts only if the node was never met."""
        if (b"", node) in self._said or self._is_met(node):
            return self._said.get((b"", node))
        return self._said.get((peer.node.uuid, node))

    def _is_met(self, name: str) -> bool:
        """Return whether the key of that name is known without the help of a peer."""
        peer, key_of = self._neighbours.named(name), self._neighbours.acquaintances.key_of
        return peer is not None and (peer.alive or bool(key_of(peer.node.uuid)))

    def request_proofs(self, peer: Peer, names: Iterable[str]) -> None:
        """Ask a peer for the hops of the given nodes, unless it was asked in the last 0.25 s."""
        if self._context.clock.now - peer.asked_for_ways >= AGAIN:
            peer.asked_for_ways = self._context.clock.now
            self._context.out.send(peer.data, c.Ways(tuple(dict.fromkeys(names))[:HOPS]))

    # --- received declarations --------------------------------------------------------------------------

    def _on_state(self, fact: StateReceived) -> None:
        known = fact.known
        peer, line = self._neighbours.peers.get(known.state.uuid), self._line_of(known.state.uuid)
        if self._keyring is None or peer is None or line is None or peer.node.name != known.state.name:
            return
        if self._neighbours.named(known.state.name) is peer:
            self._learn(b"", Vouched(peer.node, line, known.state.ways))

    def on_proofs(self, peer: Peer, command: c.Ways) -> None:
        """Process a question or an answer of a peer. Raises: RemoteError for a malformed answer."""
        if command.names:
            self._send_declarations(peer, command.names[:HOPS])
            return
        try:
            lines = decode(command.gossip).lines[:HOPS]
        except ValueError as error:
            raise RemoteError(f"malformed node states: {error}", code="MALFORMED") from error
        nodes = {as_node(node).uuid: without_metadata(node) for node in command.nodes[:HOPS]}
        for line in lines if self._keyring is not None else ():
            state = read(line)
            if state is not None:
                self._process_state(peer, line, state, nodes.get(line.uuid))
        self._context.facts.publish_fact(RoutesVouched())

    def _process_state(
        self, peer: Peer, line: StateLine, state: NodeState, told: Introduction | None
    ) -> None:
        assert self._keyring is not None
        known = self._neighbours.peers.get(line.uuid)
        kept = self._neighbours.acquaintances.key_of(line.uuid)
        is_known = known is not None and known is self._neighbours.named(state.name) and (known.alive or kept)
        node = known.node if is_known and known is not None else told
        if node is None or node.name != state.name or node.uuid == self._context.me.uuid:
            return
        if not is_known and self._is_met(state.name):
            return  # the name belongs to another node
        key = kept or node.key
        if not self._keyring.verify(key, line.signature, signed_text(line)):
            self._context.counters.add_count("forged")
            return
        self._learn(b"" if is_known else peer.node.uuid, Vouched(node, line, state.ways))

    def _learn(self, by: bytes, said: Vouched) -> None:
        key = by, said.node.name
        before = self._said.get(key)
        is_same = before is not None and before.node.uuid == said.node.uuid
        if before is not None and is_same and before.line.version >= said.line.version:
            return
        self._said.keep(key, said)
        if before is None or not is_same or set(before.ways) != set(said.ways):
            self._believed.clear()
            self._context.facts.publish_fact(RoutesVouched())

    # --- sent declarations ------------------------------------------------------------------------------

    def _send_declarations(self, peer: Peer, names: Sequence[str]) -> None:
        """Answer with the known declarations of the given nodes, from any peer."""
        known = {name: self._said.get((b"", name)) for name in names}
        for (_, name), said in self._said.items() if None in known.values() else ():
            if name in known and known[name] is None:
                known[name] = said
        self._send_proofs(peer, [said for said in known.values() if said is not None])

    def introduce(self, peer: Peer) -> None:
        """Send our declaration to a peer that is one of our hops, before it forwards our messages.

        Without keys, or before our first state, nothing is sent.
        """
        line = self._line_of(self._context.me.uuid)
        if self._keyring is not None and line is not None and peer.node.name in self._ours.names:
            self._send_proofs(peer, [Vouched(self._context.me, line, ())])

    def _spoke(self, fact: OwnStateSent) -> None:
        """Introduce this node to all its hops after it has published a state with changed hops."""
        if self._declared != fact.state.ways:
            self._declared = fact.state.ways
            for name in fact.state.ways:
                if (peer := self._neighbours.named(name)) is not None:
                    self.introduce(peer)

    def _send_proofs(self, peer: Peer, said: Sequence[Vouched]) -> None:
        if said:
            me = self._context.me
            lines = tuple(one.line for one in said)
            nodes = tuple(one.node for one in said)
            self._context.out.send(
                peer.data, c.Ways((), nodes, encode(StateMessage(me.uuid, me.boot, 0, lines)))
            )
