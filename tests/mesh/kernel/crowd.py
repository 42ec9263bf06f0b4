"""Many simulated nodes, more than can all be linked."""

from collections.abc import Callable

from mesh.discovery.state import Sample
from tests.simulation import SimNetwork, SimNode

IDLE = Sample(cpu=(90.0, 80.0), ram_free=12_000_000, ram_total=100_000_000)


def crowd(net: SimNetwork, size: int) -> list[SimNode]:
    """Return `size` nodes that all know each other."""
    nodes: list[SimNode] = []
    for i in range(size):
        nodes.append(started(net, f"n{i}", *(("n0",) if i else ())))
        net.run(0.1)
    now_and_then(net, lambda: all_know(nodes))
    return nodes


def started(net: SimNetwork, name: str, *seeds: str) -> SimNode:
    return net.node(name, *seeds, remember=False, sample=lambda: IDLE)


def all_know(nodes: list[SimNode]) -> bool:
    return all(len(node.alive) == len(nodes) - 1 for node in nodes)


def now_and_then(net: SimNetwork, condition: Callable[[], bool], limit: int = 60) -> None:
    """Wait as `until` does, but check only once a second, because the check is expensive."""
    for _ in range(limit):
        net.run(1)
        if condition():
            return
    raise AssertionError(f"not within {limit} s of simulated time")


def see(one: SimNode, other: SimNode) -> None:
    """Let multicast DNS show the `other` node to `one`."""
    one.core.advertised(other.core.parts.context.me, one.net.now, one.net.wall)
    one._carry_out_all()
