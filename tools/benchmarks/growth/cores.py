"""The cost of many simulated nodes for each of them, and the time until all know of a join or a death."""

import gc

from tools.benchmarks.growth.memory import resident
from tools.benchmarks.growth.network import Counted, started, until
from tools.simulator.world.mesh import SimNetwork

APART = 0.05  # simulated s between two starts
IDLE = 6.0  # simulated s that are measured
SETTLING = 4.0  # and before, to leave out first contacts


def measured(size: int) -> dict[str, float]:
    """Run `size` node cores in a simulated network, and return the figures.

    `start` is in CPU s per node, `cpu` in CPU s per node and simulated s, and `join` and `die` are in
    simulated s. Automatic garbage collection is off, because it would walk through the memory of all cores.
    """
    gc.disable()
    try:
        return _measured(size)
    finally:
        gc.enable()


def _measured(size: int) -> dict[str, float]:
    before = resident()
    net = SimNetwork(1)
    nodes = []
    for i in range(size):
        nodes.append(started(net, f"node{i}", *(["node0"] if i else [])))
        net.run(APART)
    until(net, lambda: _all_see(nodes, size), f"{size} nodes that see each other")
    start = sum(node.spent for node in nodes) / size
    net.run(SETTLING)
    spent = sum(node.spent for node in nodes)
    net.run(IDLE)
    cpu = (sum(node.spent for node in nodes) - spent) / IDLE / size
    each = (resident() - before) / size
    newcomer = started(net, "newcomer", "node0")
    joining = until(net, lambda: _all_see([*nodes, newcomer], size + 1), "a newcomer is seen, and sees all")
    newcomer.kill()
    dying = until(net, lambda: _all_see(nodes, size), "a death is seen")
    return {"start": start, "cpu": cpu, "bytes": each, "join": joining, "die": dying}


def _all_see(nodes: list[Counted], count: int) -> bool:
    return all(node.core.parts.neighbours.membership.count == count for node in nodes)
