"""Discovery alone, simulated: the cost of one member of many, and the time until all know of a change."""

import tracemalloc
from random import Random

from tools.benchmarks.growth.crowded import cost, crowded
from tools.models.swim_network import SwimNetwork
from tools.running.processes import Failed

SECONDS = 60  # simulated s in which one member is probed
DEATHS = 3
LIMIT = 120.0  # simulated s


def one_of_many(size: int) -> dict[str, float]:
    """Return the CPU seconds per simulated second, and the bytes, of one member of `size`.

    The member has met all others.
    """
    tracemalloc.start()  # too little to measure in whole pages
    members, others = crowded(size)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert members.count == len(others) + 1 == size, f"{members.count} of {size} members are known"
    return {"cpu": cost(size, SECONDS) / 100, "bytes": kept}


def convergence(size: int) -> dict[str, float]:
    """Return the simulated seconds until all members know of a join, and of a death.

    The figure for a death is the mean of at most DEATHS members that end without a goodbye.
    """
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
    """Run until each running member counts as many members as run, and return the simulated time.

    Raises Failed after LIMIT seconds.
    """
    up = net.up()
    end = net.now + LIMIT
    while any(node.members.count != len(up) for node in up):
        if net.now > end:
            raise Failed(f"not all of {len(up)} members know each other within {LIMIT:g} simulated seconds")
        net.run(0.1)
    return net.now
