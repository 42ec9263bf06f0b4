"""Through which neighbour can a node be reached that is not known here? Asked only when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

from mesh.core.desk.asked import Inquiry, Verb, answer
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Part
from mesh.core.desk.settings import CONFIRM
from mesh.core.peers.facts import PeerJoined, PeerLost
from mesh.core.peers.peer import Peer
from mesh.core.ways.facts import WayTold
from mesh.core.ways.questions import Questions, Replies
from mesh.reasons.what import What
from mesh.wire.calls import AskWhere
from mesh.wire.replies import Hops, Reason

NOBODY = 2.0  # s that "nobody knows it" is believed
FOUND = 30.0  # s that a way is believed
FAR = 16
ASKED = 64  # nodes at once: each of them connects, and is told the names of all


class Askable(Protocol):
    """The other nodes."""

    def is_alive(self, node: str) -> bool:
        """Can it be asked something now?"""

    def why(self, what: What) -> Iterator[Reason]:
        """How do they stand?"""

    def askable(self, visited: Collection[str] = ()) -> list[Peer]:
        """The peers that can be asked something now, but for nodes where the question has been."""


class Whereabouts(Part):
    """Says WayTold when an answer has come."""

    def __init__(self, desk: Desk, questions: Questions, nodes: Askable) -> None:
        self._desk = desk
        self._questions = questions
        self._nodes = nodes
        self._known: dict[str, tuple[str, float]] = {}  # node -> (neighbour or "", until when)
        self._asking: set[str] = set()

    def hears(self) -> Sequence[Hearing]:
        return (hear(PeerJoined, self._forget), hear(PeerLost, self._forget))

    def why(self, what: What) -> Iterator[Reason]:
        return self._nodes.why(what)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskWhere, self._asked),)

    def _asked(self, asked: Inquiry[AskWhere]) -> None:
        """Another node asks how far it is from here."""
        ask = asked.ask
        if ask.node == self._desk.me.name:
            asked.say(Hops(hops=0))
        else:
            within = min(CONFIRM, ask.within)
            self.find(ask.node, ask.visited, within, lambda way, hops: asked.say(Hops(hops=hops)))

    def way_to(self, node: str) -> str | None:
        """A live neighbour that can reach it, if one has said so."""
        way, until = self._known.get(node, ("", 0.0))
        return way if way and until > self._desk.now and self._nodes.is_alive(way) else None

    def ask(self, node: str) -> bool:
        """Ask around, unless the answer is known; True while it is not."""
        if node in self._asking:
            return True
        way, until = self._known.get(node, ("", 0.0))
        if until > self._desk.now and (not way or self._nodes.is_alive(way)):
            return False
        self._asking.add(node)
        self.find(node, (), CONFIRM, lambda way, _: self._found(node, way))
        return node in self._asking  # with nobody to ask, the answer is there already

    def _forget(self, fact: PeerJoined | PeerLost) -> None:
        self._known.clear()

    def find(
        self, node: str, visited: Collection[str], within: float, then: Callable[[str, int], None]
    ) -> None:
        """`then(neighbour, hops)`: the nearest way; ("", -1) without any."""
        if self._nodes.is_alive(node):
            then(node, 1)
            return
        # In a crowd those first with whom we talk anyway: what all have seen, one of them has.
        peers = sorted(self._nodes.askable(visited), key=lambda peer: peer.data is None)[:ASKED]
        if not peers or len(visited) > FAR:
            then("", -1)
            return
        ring = [*visited, self._desk.me.name, *(p.node.name for p in peers)]

        def came(replies: Replies[Hops], missing: list[str]) -> None:
            names = {p.node.uuid: p.node.name for p in peers}
            then(*nearest(node, ((names[uuid], told.value.hops) for uuid, told in replies.items())))

        self._questions.ask_all(peers, AskWhere(node=node, visited=ring), Hops, came, within)

    def _found(self, node: str, way: str) -> None:
        self._asking.discard(node)
        self._known[node] = (way, self._desk.now + (FOUND if way else NOBODY))
        self._desk.say(WayTold(way))


def nearest(node: str, answers: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """The neighbour that is nearest to a node, and how far that is; ("", -1) without any. `answers`: names of
    neighbours, and how far they say it is from them. That it is itself only the node itself may say.
    """
    ways = [(hops + 1, name) for name, hops in answers if hops > 0 or (hops == 0 and name == node)]
    return (min(ways)[1], min(ways)[0]) if ways else ("", -1)
