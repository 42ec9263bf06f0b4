"""A mesh in which a node reaches its master through another node, and sessions that move there."""

from __future__ import annotations

from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulated_client import SimClient, Subscription

MOVING = (
    "visiting_sessions",
    "sessions_held",
    "resume_pins",
    "pinned_envelopes",
    "resuming",
    "stored_envelopes",
)


class Relayed:
    """The chain bilbo -> frodo -> heron <-> avalon, in which no other nodes can link. Heron is the master."""

    def __init__(self, *cuts: tuple[str, str]) -> None:
        self.c: Cluster = cluster("heron", "avalon", "frodo", "bilbo")
        self.cuts = (("bilbo", "heron"), ("bilbo", "avalon"), ("frodo", "avalon"))
        self.cut()
        self.ann = self.c.client("heron", "ann")

    def cut(self) -> None:
        for one, other in self.cuts:
            self.c.net.cut(one, other)

    def joe(self, node: str) -> tuple[SimClient, Subscription]:
        joe = self.c.roamer(node)
        return joe, joe.subscribed("k", domain=RUGBY, initial=False)

    def move(self, joe: SimClient, node: str) -> None:
        joe.move(self.c[node].ipc)
        self.c.net.until(lambda: joe.is_up and joe.core.line.home == node, 30.0)

    def publish(self, *contents: bytes) -> None:
        for content in contents:
            self.ann.publish("k", content, persistent=True, domain=RUGBY)
        self.ann.settled()

    def ends(self, joe: SimClient) -> None:
        """Wait until no node holds anything of a move."""
        self.c.net.until(lambda: not joe.core.visits.is_moving and not self.left(), 60.0)
        peer = self.c["heron"].core.parts.neighbours.peers[self.c["bilbo"].uuid]
        assert peer.data is None, "heron and bilbo are not linked"

    def left(self) -> dict[str, float]:
        nodes = [node for node in self.c.nodes.values() if node.is_up]
        return {f"{node.name} {name}": n for node in nodes for name in MOVING if (n := node.metric(name))}

    def arrives(self, sub: Subscription, *contents: bytes) -> None:
        self.c.net.until(lambda: len(sub.contents) >= len(contents), 30.0)
        self.c.net.run(3)
        assert sub.contents == list(contents), "in order, and once"
