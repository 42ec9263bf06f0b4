"""What must be asked of the other nodes before a client gets its answer?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mesh.core.desk import Desk
from mesh.core.peer import Peer
from mesh.core.settings import CONFIRM
from mesh.routing.interest import Interests
from mesh.routing.log import Log
from mesh.wire.commands import Call, Interest, Query
from mesh.wire.envelope import Envelope

Value = tuple[bytes, Envelope]  # master, its value
Found = Callable[[list[Value], list[str]], None]  # (values, names of nodes that did not answer)


@dataclass(slots=True, eq=False)
class Confirmation:
    """A subscription waits until each of these nodes has this version of our interest."""

    version: int
    need: set[bytes]
    deadline: float
    then: Callable[[], None]


@dataclass(slots=True, eq=False)
class Gathering:
    """A get waits for the values of each of these nodes."""

    query: Query
    need: set[bytes]
    deadline: float
    then: Found
    best: dict[tuple[str, str], Value] = field(default_factory=dict)

    def add(self, master: bytes, envelope: Envelope) -> None:
        """The newest per key: by hybrid clock, then id."""
        topic = (envelope.keys[0], envelope.domain)
        known = self.best.get(topic)
        if known is None or _stamp(envelope) > _stamp(known[1]):
            self.best[topic] = (master, envelope)


class Questions:
    """`peers` are those that can be asked; `ask` and `told` reach them."""

    def __init__(self, desk: Desk, log: Log, interests: Interests) -> None:
        self._desk = desk
        self._log = log
        self._interests = interests
        self._confirmations: list[Confirmation] = []
        self._gatherings: dict[int, Gathering] = {}
        self._early: list[Callable[[], None]] = []  # asked before we know whom to ask
        self._request = 0
        # Set by the node, which joins this with the peers.
        self.peers: Callable[[], list[Peer]] = list
        self.ask: Callable[[Peer, Call], None] = lambda peer, call: None
        self.told: Callable[[Interest], None] = lambda interest: None
        self.settled: Callable[[], bool] = lambda: True

    def tell(self, interest: Interest | None) -> None:
        """Our interest has changed."""
        if interest is not None:
            self.told(interest)

    def _when_settled(self, work: Callable[[], None]) -> None:
        """A node that has just started must not take its peers for absent, only because they answer yet."""
        if self.settled():
            work()
        else:
            self._early.append(work)

    def confirm(self, then: Callable[[], None]) -> None:
        """Call `then` when every node that can be reached knows our present interest."""
        self._when_settled(lambda: self._confirm(then))

    def _confirm(self, then: Callable[[], None]) -> None:
        version = self._interests.version
        need = {peer.node.uuid for peer in self.peers() if peer.confirmed < version}
        self._confirmations.append(Confirmation(version, need, self._desk.now + CONFIRM, then))
        self._desk.wake(self._desk.now + CONFIRM)
        self.review()

    def confirmed(self, peer: Peer) -> None:
        """A peer has said which version it knows."""
        for waiting in self._confirmations:
            if peer.confirmed >= waiting.version:
                waiting.need.discard(peer.node.uuid)
        self.review()

    def gather(self, query: Query, then: Found, after: bool = False) -> None:
        """Call `then` with the values of this node and of all that can be reached.

        `after`: they come after all messages of the same node that are on their way here by now.
        """
        self._when_settled(lambda: self._gather(query, then, after))

    def _gather(self, query: Query, then: Found, after: bool) -> None:
        self._request += 1
        peers = self.peers()
        gathering = Gathering(query, {p.node.uuid for p in peers}, self._desk.now + CONFIRM, then)
        for last in self._log.retained.find(query, self._desk.wall):
            gathering.add(self._desk.me.uuid, last.as_envelope())
        self._gatherings[self._request] = gathering
        self._desk.wake(gathering.deadline)
        arguments = {"kind": query.kind, "text": query.text, "domain": query.domain, "after": after}
        call = Call(self._request, "get", arguments)
        for peer in peers:
            self.ask(peer, call)
        self.review()

    def answered(self, peer: Peer, request: int, envelopes: list[Envelope], more: bool) -> None:
        """A peer's values; `more` of them follow."""
        gathering = self._gatherings.get(request)
        if gathering is None:
            return
        for envelope in envelopes:
            gathering.add(peer.node.uuid, envelope)
        if not more:
            gathering.need.discard(peer.node.uuid)
            self.review()

    def lost(self, peer: Peer) -> None:
        """A peer is dead: nobody waits for it."""
        for confirmation in self._confirmations:
            confirmation.need.discard(peer.node.uuid)
        for gathering in self._gatherings.values():
            gathering.need.discard(peer.node.uuid)
        self.review()

    def review(self) -> None:
        """Finish what has all it needs, or has waited long enough."""
        now = self._desk.now
        if self._early and self.settled():
            early, self._early = self._early, []
            for work in early:
                work()
        done = [c for c in self._confirmations if not c.need or now >= c.deadline]
        self._confirmations = [c for c in self._confirmations if c not in done]
        for confirmation in done:
            confirmation.then()
        ready = [r for r, g in self._gatherings.items() if not g.need or now >= g.deadline]
        for request in ready:
            gathering = self._gatherings.pop(request)
            names = [p.node.name for p in self.peers() if p.node.uuid in gathering.need]
            gathering.then(list(gathering.best.values()), names)

    def deadline(self) -> float | None:
        """When review() is next worth calling."""
        deadlines = [c.deadline for c in self._confirmations] + [
            g.deadline for g in self._gatherings.values()
        ]
        return min(deadlines, default=None)


def _stamp(envelope: Envelope) -> tuple[int, bytes, int]:
    return envelope.sent, envelope.stream, envelope.first
