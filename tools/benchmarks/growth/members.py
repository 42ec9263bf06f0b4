"""What does one member of many cost, and how soon do all know of another? Discovery alone, simulated."""

import tracemalloc
from random import Random

from tools.benchmarks.growth.crowded import cost, crowded
from tools.models.swim_network import SwimNetwork
from tools.running.processes import Failed

SECONDS = 60  # simulated, in which one member is probed
DEATHS = 3
LIMIT = 120.0  # simulated s


def one_of_many(size: int) -> dict[str, float]:
    """CPU a second and memory of one member that has met so many."""
    tracemalloc.start()  # it is little: whole pages would say nothing
    members, others = crowded(size)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert members.count == len(others) + 1 == size, f"{members.count} of {size} members are known"
    return {"cpu": cost(size, SECONDS) / 100, "bytes": kept}


def convergence(size: int) -> dict[str, float]:
    """Simulated s until all of so many know that one has joined; and that one is silent, on average."""
    net = SwimNetwork(1)
    nodes = net.together(size)
    net.run(5.0)
    chance = Random(1)
    start = net.now
    net.start("newcomer", seeds=["n0"])
    joining = _complete(net) - start
    silent = []
    for node in chance.sample(nodes[1:], min(DEATHS, size - 1)):
        net.run(chance.random())
        start = net.now
        net.kill(node)
        silent.append(_complete(net) - start)
    return {"join": joining, "die": sum(silent) / len(silent)}


def _complete(net: SwimNetwork) -> float:
    """When all that run know of all that run."""
    up = net.up()
    end = net.now + LIMIT
    while any(node.members.count != len(up) for node in up):
        if net.now > end:
            raise Failed(f"not all of {len(up)} members know each other within {LIMIT:g} simulated seconds")
        net.run(0.1)
    return net.now
