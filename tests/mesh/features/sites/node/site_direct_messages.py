"""Two sites whose clients send direct messages to each other, for tests."""

from typing import Any

from mesh.config.sites import RemoteSite
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

FROM_LON = {"LON": RemoteSite("LON", letters=("#",))}
FROM_NYC = {"NYC": RemoteSite("NYC", letters=("#",))}


def two_sites(net: SimNetwork, **options: Any) -> tuple[SimNode, SimNode, SimNode, SimNode]:
    """Create LON with gateway a and member b, and NYC with gateway c and member d."""
    c = gateway(net, "c", "NYC", "LON", tables=options.pop("there", FROM_LON))
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    b = member(net, "b", "LON", "a", tables=FROM_NYC)
    d = member(net, "d", "NYC", "c", tables=FROM_LON)
    net.until(lambda: links(a) == links(c) == 1 and "b" in a.alive and "d" in c.alive)
    return a, b, c, d


def client(node: SimNode, name: str) -> SimClient:
    return SimClient(node.net, node.ipc, name, session=1).connected()


def name_at(site: str, node: SimNode, name: str) -> str:
    return f"/site/{site}/node/{node.name}/client/{name}/session/1"


def refused(joe: SimClient, to: str, number: int = 1, **how: Any) -> str:
    """Send a direct message that is answered within 1 s, and return the state of the answer."""
    begun = joe.net.now
    joe.send(to, b"x", **how)
    joe.settled()
    assert joe.net.now - begun < 1
    return joe.state(number)
