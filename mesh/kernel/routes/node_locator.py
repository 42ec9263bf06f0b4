"""Finds the neighbor through which an unknown node is reached, by questions to other nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.facts import PeerJoined, PeerLost
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.facts import RouteLearned
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.reasons.what import What
from mesh.wire.calls import AskWhere
from mesh.wire.replies import Hops, Reason

NOBODY = 2.0  # s that a negative answer is valid
FOUND = 30.0  # s that a route is valid
FAR = 16
ASKED = 64  # nodes asked together, each over a new connection


class Askable(Protocol):
    """The other nodes, as far as this module needs them."""

    def is_alive(self, node: str) -> bool:
        """Return whether the node can be asked now."""

    def why(self, what: What) -> Iterator[Reason]:
        """Yield the reasons that the states of nodes give for `what`."""

    def askable(self, visited: Collection[str] = ()) -> list[Peer]:
        """Return the peers that can be asked now, except those in `visited`."""


class NodeLocator(Component):
    """Component that finds routes to nodes.

    The fact RouteLearned is published after each answer to `ask_nodes`.
    """

    def __init__(self, context: NodeContext, questions: PeerCalls, nodes: Askable) -> None:
        self._context = context
        self._questions = questions
        self._nodes = nodes
        self._known: dict[str, tuple[str, float]] = {}  # node -> (neighbor or "", deadline)
        self._asking: set[str] = set()

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(PeerJoined, self._on_peers_changed), on_fact(PeerLost, self._on_peers_changed))

    def explain(self, what: What) -> Iterator[Reason]:
        return self._nodes.why(what)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskWhere, self._on_where),)

    def _on_where(self, asked: IncomingCall[AskWhere]) -> None:
        ask = asked.ask
        if ask.node == self._context.me.name:
            asked.reply(Hops(hops=0))
        else:
            within = min(CONFIRM, ask.within)
            self.find_nearest(ask.node, ask.visited, within, lambda way, hops: asked.reply(Hops(hops=hops)))

    def way_to(self, node: str) -> str | None:
        """Return a live neighbor that has reported a route to the node, or None."""
        way, until = self._known.get(node, ("", 0.0))
        return way if way and until > self._context.clock.now and self._nodes.is_alive(way) else None

    def ask_nodes(self, node: str) -> bool:
        """Ask other nodes unless the answer is known, and return whether it is still unknown."""
        if node in self._asking:
            return True
        way, until = self._known.get(node, ("", 0.0))
        if until > self._context.clock.now and (not way or self._nodes.is_alive(way)):
            return False
        self._asking.add(node)
        self.find_nearest(node, (), CONFIRM, lambda way, _: self._found(node, way))
        return node in self._asking  # without peers the answer is already there

    def _on_peers_changed(self, fact: PeerJoined | PeerLost) -> None:
        self._known.clear()

    def find_nearest(
        self, node: str, visited: Collection[str], within: float, then: Callable[[str, int], None]
    ) -> None:
        """Call `then` with the neighbor nearest to the node and the hops to the node, or with ("", -1).

        The call may be immediate, or come up to `within` seconds later.
        """
        if self._nodes.is_alive(node):
            then(node, 1)
            return
        # In a crowd the connected peers come first, as one of them knows any node that all have seen.
        peers = sorted(self._nodes.askable(visited), key=lambda peer: peer.data is None)[:ASKED]
        if not peers or len(visited) > FAR:
            then("", -1)
            return
        ring = [*visited, self._context.me.name, *(p.node.name for p in peers)]

        def came(replies: Replies[Hops], missing: list[str]) -> None:
            names = {p.node.uuid: p.node.name for p in peers}
            then(*nearest(node, ((names[uuid], told.value.hops) for uuid, told in replies.items())))

        self._questions.ask_all(peers, AskWhere(node=node, visited=ring), Hops, came, within)

    def _found(self, node: str, way: str) -> None:
        self._asking.discard(node)
        self._known[node] = (way, self._context.clock.now + (FOUND if way else NOBODY))
        self._context.facts.publish_fact(RouteLearned(way))


def nearest(node: str, answers: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the neighbor nearest to a node and the number of hops to the node, or ("", -1).

    `answers` has names of neighbors with their reported hops. Only the node itself may report 0.
    """
    ways = [(hops + 1, name) for name, hops in answers if hops > 0 or (hops == 0 and name == node)]
    return (min(ways)[1], min(ways)[0]) if ways else ("", -1)
