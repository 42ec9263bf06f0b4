"""A mesh of gossip only, in simulated time: nodes publish in turn, and listeners receive immediately."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import msgspec

from mesh.discovery.gossip import StateGossip, StateLine, StateMessage, encode
from mesh.discovery.state import NodeState

INTERVAL = 2.0
LONG_AGO = 10_000  # number of the first message with all states
AT_ONCE = 500  # lines in such a message; readers accept 512


def state(uuid: bytes, /, boot: int = 1, counter: int = 1, **changes: Any) -> NodeState:
    """Return the state of a machine with eight cores."""
    plain = NodeState(
        uuid=uuid, name=f"n{uuid.hex()[:8]}", boot=boot, counter=counter, wall=1_790_000_000_000_000_000,
        up=1e4, software="heronry 0.1.0", cpu=(40,) * 8, ram_free=4 * 10**9, ram_total=8 * 10**9, load=0.6,
        lag=0.001, published=12.5, delivered=25.0, pending=3, tailback=0, stored=7, sessions=2,
        subscriptions=5, links=31,
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def line(said: NodeState, signature: bytes = bytes(64)) -> StateLine:
    return StateLine(said.uuid, said.boot, said.counter, said.encode(), signature)


def boots(*uuids: bytes, boot: int = 1) -> Callable[[bytes], int | None]:
    """Return a membership as a function: it returns `boot` for each of `uuids`, and None for others."""
    return dict.fromkeys(uuids, boot).get


@dataclass
class SimNode:
    uuid: bytes
    gossip: StateGossip
    boot: int = 1
    counter: int = 0
    hears: set[bytes] = field(default_factory=set)


class GossipMesh:
    """A mesh of gossip.

    `alive` is the membership of all nodes, and `loss` the share of lost messages.
    """

    def __init__(self, count: int, seed: int = 0, loss: float = 0.0) -> None:
        self.rng = Random(seed)
        self.loss = loss
        self.now = 100.0
        self.nodes: dict[bytes, SimNode] = {}
        self.alive: dict[bytes, int] = {}
        self.sent: list[int] = []  # bytes per message of the last round
        self.delivered = 0  # bytes of the last round, to all listeners
        self._listeners: dict[bytes, list[SimNode]] = {}
        self._boots: dict[bytes, dict[bytes, int]] = {}  # different memberships, by node
        self.join(self.rng.randbytes(16) for _ in range(count))

    def join(self, uuids: Iterable[bytes], boot: int = 1) -> list[SimNode]:
        nodes = [SimNode(uuid, StateGossip(uuid, self.rng.random, INTERVAL), boot) for uuid in uuids]
        self.nodes.update({node.uuid: node for node in nodes})
        self.alive.update({node.uuid: boot for node in nodes})
        self.listen()
        return nodes

    def kill(self, uuid: bytes, unaware: bytes = b"") -> None:
        """Remove a node at all others, except perhaps `unaware`, which considers it alive forever."""
        del self.nodes[uuid]
        if unaware:
            self._boots[unaware] = dict(self.alive)
        boot = self.alive.pop(uuid)
        for node in self.nodes.values():
            if node.uuid != unaware:
                node.gossip.remove_node(uuid, boot, self.now)
        self.listen()

    def listen(self) -> None:
        self._listeners = {uuid: [] for uuid in self.nodes}
        for node in self.nodes.values():
            node.hears = node.gossip.listen_to(self.alive, (), self.now)
            for uuid in node.hears & self.nodes.keys():
                self._listeners[uuid].append(node)

    def round(self, count: int = 1) -> None:
        """Let each node publish once per interval, always in the same order, as real clocks do."""
        for _ in range(count):
            self.sent, self.delivered = [], 0
            for node in self.nodes.values():
                self.now += INTERVAL / len(self.nodes)
                self.publish(node)

    def publish(self, node: SimNode) -> None:
        node.counter += 1
        said = state(node.uuid, node.boot, node.counter, up=self.now)
        node.gossip.own(line(said))
        message = node.gossip.outgoing(len(self.alive), self.now)
        size = len(encode(message))
        self.sent.append(size)
        for listener in self._listeners[node.uuid]:
            self.delivered += size
            if self.rng.random() >= self.loss:
                listener.gossip.heard(message, self._boots.get(listener.uuid, self.alive).get, self.now)

    def tell_all(self) -> None:
        """Give all nodes the states of all, as if they had run for long."""
        self.round()
        lines = tuple(line(state(uuid, boot, 1, up=self.now)) for uuid, boot in self.alive.items())
        slices = [lines[at : at + AT_ONCE] for at in range(0, len(lines), AT_ONCE)]
        tellers = list(self.nodes)[:2]
        for uuid, node in self.nodes.items():
            teller = tellers[uuid == tellers[0]]
            for number, some in enumerate(slices, LONG_AGO):
                message = StateMessage(teller, self.alive[teller], number, some)
                node.gossip.heard(message, self.alive.get, self.now)

    def knows_all(self, node: SimNode) -> bool:
        return len(node.gossip.known) == len(self.alive) - 1

    def ages(self, node: SimNode) -> list[float]:
        """Return the age in intervals of each other node's known state."""
        return [(self.now - known.state.up) / INTERVAL for known in node.gossip.known.values()]
