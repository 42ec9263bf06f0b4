"""Which of several nodes that would do as well? What is known of them, and what the strategy says."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from balancers.answers import AnswerRecords
from balancers.base import Balancer, Candidate, Message, NodeInfo, Registration, Unread, reads_message
from balancers.sent import SentCounts
from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer
from mesh.core.ways.strategies import Strategies
from mesh.wire.metadata import NONE, heard

# Law: what must stay together (a publisher's stream, a subscription) stays with the node that was chosen for
#      it as long as that one is among those that would do; then another is chosen, and stays.

KEPT = 100_000  # choices that are remembered
SWEEP = 60.0  # s between two looks at whom nothing was sent for long

NodeLoad = tuple[float | None, float, int | None]  # load (0..1), age of what it said (s), free RAM (bytes)
MessageReader = Callable[[], Message]  # decodes a message


def name_of(balancer: Balancer) -> str:
    """A foreign one has its own."""
    name: str = getattr(balancer, "name", type(balancer).__name__)
    return name


class Balancing:
    """The choice between nodes. `peer(name)` finds one; `state_of(name)` is what it said of itself last,
    `weight_of(name)` what was learnt of it.

    Of masters, and ways to them, one is `choose`n. Of nodes that serve an address, each with so many
    consumers, `assign` and `several` choose; what became of that is to be told with `sent_to` and `answered`.
    """

    def __init__(
        self,
        desk: Desk,
        balancer: Balancer,
        peer: Callable[[str], Peer | None],
        state_of: Callable[[str], NodeLoad | None],
        weight_of: Callable[[str], float],
    ) -> None:
        self._desk = desk
        self._peer = peer
        self._sent = SentCounts(desk.settings.state)
        self._answers = AnswerRecords()
        self._chosen: OrderedDict[Hashable, str] = OrderedDict()
        self._swept = 0.0
        self._state_of = state_of
        self._weight_of = weight_of
        self._metadata = heard(desk.me.metadata)
        self._strategies = Strategies(desk.settings, balancer)
        self._strategies.started(NodeInfo(desk.me.name, desk.me.uuid, desk.settings.state, self._metadata))

    # --- masters, and ways to them ------------------------------------------------------------------------

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str = "") -> str:
        """One of them: for the same `of` the same one as long as it is among them; None: a new choice."""
        if of is None:
            return self._pick(nodes, domain)
        chosen = self._chosen.get(of)
        if chosen is None or chosen not in nodes:
            chosen = self._chosen[of] = self._pick(nodes, domain)
        self._chosen.move_to_end(of)
        while len(self._chosen) > KEPT:
            self._chosen.popitem(last=False)
        return chosen

    def _pick(self, nodes: Sequence[str], domain: str) -> str:
        """A new choice: if possible none that does not answer just now."""
        balancer = self._strategies.of_domain(domain)
        node = balancer.pick([self._way(node) for node in self._steady(nodes)])
        self._took(node, 1)
        return node

    def _way(self, node: str) -> Candidate:
        peer = self._peer(node)
        sent = self._sent.of(node, self._desk.now)
        return self._candidate(node, len(peer.reads) if peer else 0, peer.rtt if peer else 0.0, sent)

    # --- those who serve an address -----------------------------------------------------------------------

    def reads_message(self, address: str) -> bool:
        """Does each message to that address want a choice of its own, since the strategy reads it?"""
        return reads_message(self._strategies.of_address(address))

    def assign(
        self, address: str, nodes: Mapping[str, int], n: int, message: MessageReader | None = None
    ) -> dict[str, int]:
        """The number of n messages that goes to each of these nodes, of which the consumers are given. Where
        there is only one, no strategy is asked.
        """
        if len(nodes) == 1:
            [node] = nodes
            self._took(node, n)
            return {node: n}
        balancer = self._strategies.of_address(address)
        candidates = [self._server(node, nodes[node]) for node in self._steady(nodes)]
        counts = balancer.assign(candidates, n, self._shown(balancer, address, message))
        for node, count in counts.items():
            self._took(node, count)
        return counts

    def several(
        self, address: str, nodes: Mapping[str, int], message: MessageReader | None = None
    ) -> list[str]:
        """Those of these nodes that get a message for all who serve the address; usually each of them."""
        if not nodes:
            return []
        balancer = self._strategies.of_address(address)
        candidates = [self._server(node, consumers) for node, consumers in nodes.items()]
        found = balancer.several(candidates, self._shown(balancer, address, message))
        for node in found:
            self._took(node, 1)
        return found

    def ranked(self, address: str, nodes: Mapping[str, int]) -> tuple[str, list[Candidate]]:
        """The name of the strategy, and how it would choose: whom first, whom next. In any order where that
        depends on the message. A look: nothing goes there.
        """
        balancer = self._strategies.of_address(address)
        found = {node: self._server(node, consumers) for node, consumers in nodes.items()}
        steady = [found[node] for node in self._steady(nodes)]
        if steady and not reads_message(balancer):
            order = balancer.order(steady, Unread(address))
        else:
            order = [candidate.node for candidate in steady]
        return name_of(balancer), [found.pop(node) for node in order] + list(found.values())

    def sent_to(self, node: str, n: int = 1) -> None:
        """n messages to addresses have gone there."""
        self._answers.sent(node, self._boot(node), n)

    def answered(self, node: str, n: int = 1, seconds: float | None = None) -> None:
        """n of them were answered, so long after they went; None: their answers will not come."""
        self._answers.answered(node, self._boot(node), n, seconds)

    def outstanding(self, node: str) -> int:
        """How many it has not answered."""
        return self._answers.of(node, self._boot(node))[0]

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Consumers of addresses came or went, at whatever node."""
        self._strategies.registrations(delta)

    def _server(self, node: str, consumers: int) -> Candidate:
        # What it has not answered is known of a server: what it was sent of late says no more than that.
        outstanding, latency = self._answers.of(node, self._boot(node))
        return self._candidate(node, outstanding, latency, 0.0, consumers)

    def _boot(self, node: str) -> tuple[bytes, int] | None:
        """The process of it, as far as it is known."""
        peer = self._peer(node)
        return (peer.node.uuid, peer.node.boot) if peer is not None else None

    def _shown(self, balancer: Balancer, address: str, message: MessageReader | None) -> Message:
        """The message, as far as the strategy looks at it: most do not, and it takes time."""
        if message is not None and reads_message(balancer):
            return message()
        return Unread(address)

    # --- both ---------------------------------------------------------------------------------------------

    def _steady(self, nodes: Collection[str]) -> Collection[str]:
        """Those that answer just now, as far as we know; all, if that is nobody."""
        steady = [node for node in nodes if (peer := self._peer(node)) is None or not peer.suspect]
        return steady or nodes

    def _candidate(
        self, node: str, outstanding: int, latency: float, sent: float, consumers: int = 0
    ) -> Candidate:
        peer, is_here = self._peer(node), node == self._desk.me.name
        load, age, ram_free = self._state_of(node) or (None, None, None)
        return Candidate(
            node,
            self._desk.me.uuid if is_here else peer.node.uuid if peer else b"",
            load,
            age,
            ram_free,
            latency,
            outstanding,
            sent,
            self._weight_of(node),
            self._metadata if is_here else peer.metadata if peer else NONE,
            consumers,
            is_here,
        )

    def _took(self, node: str, n: int) -> None:
        """n messages go there."""
        now = self._desk.now
        self._sent.add(node, now, n)
        if node != self._desk.me.name:
            self._desk.tally.of(node).chosen += n
        if now - self._swept > SWEEP:
            self._swept = now
            self._sent.forget(now)
            self._answers.keep(self._is_there)

    def _is_there(self, node: str) -> bool:
        peer = self._peer(node)
        return node == self._desk.me.name or (peer is not None and peer.alive)
