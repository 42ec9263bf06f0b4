"""Chooses between equivalent nodes, by their known figures and the configured strategy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from mesh.balancers.answers import AnswerRecords
from mesh.balancers.base import Balancer, Candidate, Message, NodeInfo, Registration, Unread, reads_message
from mesh.balancers.sent import SentCounts
from mesh.flow.bounded import Bounded
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.strategies import Strategies
from mesh.wire.metadata import NONE, heard

# Law: messages that belong together (a publisher's stream, a subscription) stay with the chosen node while it
# is a candidate. After that, another node is chosen and kept.

KEPT = 100_000  # choices remembered
SWEEP = 60.0  # s between two cleanups of unused entries

NodeLoad = tuple[float | None, float, int | None]  # load (0..1), its age (s), free RAM (bytes)
MessageReader = Callable[[], Message]  # decodes a message


def name_of(balancer: Balancer) -> str:
    """Return the name of a strategy: its attribute `name`, or else the name of its class."""
    name: str = getattr(balancer, "name", type(balancer).__name__)
    return name


class Balancing:
    """Chooses between nodes.

    `peer(name)` finds a node, `state_of(name)` returns its last reported load, `weight_of(name)` its learned
    weight, `is_leaving(name)` whether it is about to stop. `choose` selects a master or a next hop; `assign`
    and `several` select among the nodes that serve an address. The outcome of `assign` must be reported with
    `sent_to` and `count_answers`.
    """

    def __init__(
        self,
        context: NodeContext,
        balancer: Balancer,
        peer: Callable[[str], Peer | None],
        state_of: Callable[[str], NodeLoad | None],
        weight_of: Callable[[str], float],
        is_leaving: Callable[[str], bool] = lambda node: False,
    ) -> None:
        self._context = context
        self._is_leaving = is_leaving
        self._peer = peer
        self._sent = SentCounts(context.settings.state)
        self._answers = AnswerRecords()
        self._chosen = Bounded[Hashable, str](KEPT)
        self._swept = 0.0
        self._state_of = state_of
        self._weight_of = weight_of
        self._metadata = heard(context.me.metadata)
        self._strategies = Strategies(context.settings, balancer)
        self._strategies.started(
            NodeInfo(context.me.name, context.me.uuid, context.settings.state, self._metadata)
        )

    # --- masters and next hops ----------------------------------------------------------------------------

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str = "") -> str:
        """Choose a node; nodes that answer at present are preferred.

        The same `of` gets the same node while that is a candidate; None gets a new choice each time.
        """
        if of is None:
            return self._pick(nodes, domain)
        chosen = self._chosen.get(of)
        if chosen is None or chosen not in nodes:
            chosen = self._pick(nodes, domain)
        self._chosen.keep(of, chosen)
        return chosen

    def _pick(self, nodes: Sequence[str], domain: str) -> str:
        balancer = self._strategies.of_domain(domain)
        node = balancer.pick([self._candidate_of(node) for node in self._steady(nodes)])
        self._count_sent(node, 1)
        return node

    def _candidate_of(self, node: str) -> Candidate:
        peer = self._peer(node)
        sent = self._sent.sent_to(node, self._context.clock.now)
        return self._candidate(node, len(peer.reads) if peer else 0, peer.rtt if peer else 0.0, sent)

    # --- nodes that serve an address ----------------------------------------------------------------------

    def reads_message(self, address: str) -> bool:
        """Return whether each message to that address needs a choice of its own."""
        return reads_message(self._strategies.of_address(address))

    def assign(
        self, address: str, nodes: Mapping[str, int], n: int, message: MessageReader | None = None
    ) -> dict[str, int]:
        """Return how many of n messages each node gets.

        `nodes` has the number of consumers at each node. With a single node no strategy is asked. A node that
        does not answer at present gets none, unless no node answers.
        """
        if len(nodes) == 1:
            [node] = nodes
            self._count_sent(node, n)
            return {node: n}
        balancer = self._strategies.of_address(address)
        candidates = [self._server(node, nodes[node]) for node in self._steady(nodes)]
        counts = balancer.assign(candidates, n, self._shown(balancer, address, message))
        for node, count in counts.items():
            self._count_sent(node, count)
        return counts

    def several(
        self, address: str, nodes: Mapping[str, int], message: MessageReader | None = None
    ) -> list[str]:
        """Return the nodes that receive a message for all consumers of the address; usually all nodes."""
        if not nodes:
            return []
        balancer = self._strategies.of_address(address)
        candidates = [self._server(node, consumers) for node, consumers in nodes.items()]
        found = balancer.several(candidates, self._shown(balancer, address, message))
        for node in found:
            self._count_sent(node, 1)
        return found

    def ranked(self, address: str, nodes: Mapping[str, int]) -> tuple[str, list[Candidate]]:
        """Return the name of the strategy, and the candidates in its order of choice.

        Nothing is sent. Nodes that do not answer at present come last. The order is unspecified if the
        strategy reads the message.
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
        """Count n messages to addresses that were sent to the node."""
        self._answers.sent(node, self._boot(node), n)

    def count_answers(self, node: str, n: int = 1, seconds: float | None = None) -> None:
        """Count n answers that took `seconds`; `None` means n messages that will not be answered."""
        self._answers.count_answers(node, self._boot(node), n, seconds)

    def outstanding(self, node: str) -> int:
        """Return the number of messages that the node has not answered."""
        return self._answers.record_of(node, self._boot(node))[0]

    def registrations(self, delta: Sequence[Registration]) -> None:
        """Pass changes in the consumers of addresses, at any node, to the strategies."""
        self._strategies.registrations(delta)

    def _server(self, node: str, consumers: int) -> Candidate:
        # The unanswered messages of a server are known, so its recent sends add nothing.
        outstanding, latency = self._answers.record_of(node, self._boot(node))
        return self._candidate(node, outstanding, latency, 0.0, consumers)

    def _boot(self, node: str) -> tuple[bytes, int] | None:
        peer = self._peer(node)
        return (peer.node.uuid, peer.node.boot) if peer is not None else None

    def _shown(self, balancer: Balancer, address: str, message: MessageReader | None) -> Message:
        """Return the message, decoded only if the strategy reads it, as that takes time."""
        if message is not None and reads_message(balancer):
            return message()
        return Unread(address)

    # --- common -------------------------------------------------------------------------------------------

    def _steady(self, nodes: Collection[str]) -> Collection[str]:
        """Return the nodes that answer at present and stay, as far as known; if there are none, all nodes."""
        steady = [node for node in nodes if (peer := self._peer(node)) is None or not peer.suspect]
        return [node for node in steady if not self._is_leaving(node)] or steady or nodes

    def _candidate(
        self, node: str, outstanding: int, latency: float, sent: float, consumers: int = 0
    ) -> Candidate:
        peer, is_here = self._peer(node), node == self._context.me.name
        load, age, ram_free = self._state_of(node) or (None, None, None)
        return Candidate(
            node,
            self._context.me.uuid if is_here else peer.node.uuid if peer else b"",
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

    def _count_sent(self, node: str, n: int) -> None:
        now = self._context.clock.now
        self._sent.add(node, now, n)
        if node != self._context.me.name:
            self._context.counters.tally.counters_of(node).chosen += n
        if now - self._swept > SWEEP:
            self._swept = now
            self._sent.drop_idle(now)
            self._answers.keep(self._is_there)

    def _is_there(self, node: str) -> bool:
        peer = self._peer(node)
        return node == self._context.me.name or (peer is not None and peer.alive)
