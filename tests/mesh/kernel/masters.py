"""The five nodes of xmlBlaster's cluster tests: bilbo -> frodo -> heron <-> avalon, golan -> heron."""

from dataclasses import dataclass
from typing import Any

from mesh.mapping.rules import Rule
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

RUGBY, SOCCER, STOCK = "RUGBY_NEWS", "SOCCER_NEWS", "STOCK_EXCHANGE"
NEWS = (RUGBY, SOCCER)
KNOWN = {
    "heron": ("avalon",),
    "avalon": ("heron",),
    "golan": ("heron",),
    "frodo": ("heron",),
    "bilbo": ("frodo",),
}
RULES = {
    "heron": (Rule("heron", domains=NEWS), Rule("avalon", domains=(STOCK,))),
    "avalon": (Rule("avalon", domains=(STOCK,)), Rule("heron", domains=NEWS)),
    "golan": (Rule("golan", domains=(STOCK,)), Rule("heron", domains=NEWS), Rule("heron", 1, (STOCK,))),
    "frodo": (Rule("frodo", 2, (STOCK,)), Rule("heron", domains=NEWS), Rule("heron", 1, (STOCK,))),
    "bilbo": (Rule("frodo", 1, NEWS), Rule("frodo", 2, (STOCK,))),
}


@dataclass
class Cluster:
    """Running nodes by name, which see each other."""

    net: SimNetwork
    nodes: dict[str, SimNode]

    def __getitem__(self, name: str) -> SimNode:
        return self.nodes[name]

    def client(self, node: str, name: str = "joe", **options: Any) -> SimClient:
        return client_of(self.nodes[node], name, **options)

    def roamer(self, node: str) -> SimClient:
        """Return a client of a node that knows all others, so that it can be sent there."""
        return self.client(node, others=[other.ipc for name, other in self.nodes.items() if name != node])

    def met(self) -> "Cluster":
        """Wait until all running nodes see each other."""
        up = [node for node in self.nodes.values() if node.is_up]
        self.net.until(lambda: all(len(node.alive) >= len(up) - 1 for node in up))
        return self


def cluster(
    *names: str, net: SimNetwork | None = None, rules: dict[str, Any] | None = None, **settings: Any
) -> Cluster:
    """Start these of the five nodes. All see each other, but link only with the nodes in `KNOWN`."""
    net = net or SimNetwork(1)
    nodes: dict[str, SimNode] = {}
    for name in names:
        given = {
            "rules": (rules or RULES)[name],
            "known": KNOWN.get(name, names),
            "links": "configured",
            "scope": "local",
            **settings,
        }
        nodes[name] = net.node(name, *names[:1], **given)
    return Cluster(net, nodes).met()
