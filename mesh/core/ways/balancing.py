"""Which of several nodes that would do as well? What is known of them, and what the strategy says."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from balancers.base import Balancer, Candidate, NodeInfo
from balancers.sent import Sent
from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer

# Law: what must stay together (a publisher's stream, a subscription) stays with the node that was chosen for
#      it as long as that one is among those that would do; then another is chosen, and stays.

KEPT = 100_000  # choices that are remembered
SWEEP = 60.0  # s between two looks at whom nothing was sent for long

NodeLoad = tuple[float | None, float, int | None]  # load (0..1), age of what it said (s), free RAM (bytes)


def name_of(balancer: Balancer) -> str:
    """A foreign one has its own."""
    name: str = getattr(balancer, "name", type(balancer).__name__)
    return name


class Balancing:
    """The choice between nodes. `peer(name)` finds one; `state_of(name)` is what it said of itself last,
    `weight_of(name)` what was learnt of it."""

    def __init__(
        self,
        desk: Desk,
        balancer: Balancer,
        peer: Callable[[str], Peer | None],
        state_of: Callable[[str], NodeLoad | None],
        weight_of: Callable[[str], float],
    ) -> None:
        self._desk = desk
        self._balancer = balancer
        self._peer = peer
        self._sent = Sent(desk.settings.state)
        self._chosen: OrderedDict[Hashable, str] = OrderedDict()
        self._swept = 0.0
        self._state_of = state_of
        self._weight_of = weight_of
        balancer.started(NodeInfo(desk.me.name, desk.me.uuid, desk.settings.state))

    def choose(self, nodes: Sequence[str], of: Hashable) -> str:
        """One of them: for the same `of` the same one as long as it is among them; None: a new choice."""
        if of is None:
            return self._pick(nodes)
        chosen = self._chosen.get(of)
        if chosen is None or chosen not in nodes:
            chosen = self._chosen[of] = self._pick(nodes)
        self._chosen.move_to_end(of)
        while len(self._chosen) > KEPT:
            self._chosen.popitem(last=False)
        return chosen

    def _pick(self, nodes: Sequence[str]) -> str:
        """A new choice: if possible none that does not answer just now."""
        now = self._desk.now
        steady = [node for node in nodes if (peer := self._peer(node)) is None or not peer.suspect]
        node = self._balancer.pick([self._candidate(node) for node in steady or nodes])
        self._sent.add(node, now)
        self._desk.tally.of(node).chosen += 1
        if now - self._swept > SWEEP:
            self._swept = now
            self._sent.forget(now)
        return node

    def _candidate(self, node: str) -> Candidate:
        peer = self._peer(node)
        load, age, ram_free = self._state_of(node) or (None, None, None)
        return Candidate(
            node,
            peer.node.uuid if peer else b"",
            load,
            age,
            ram_free,
            peer.rtt if peer else 0.0,
            len(peer.reads) if peer else 0,
            self._sent.of(node, self._desk.now),
            self._weight_of(node),
        )
