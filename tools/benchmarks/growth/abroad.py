"""The cost of subscriptions to many topics whose master is another node."""

from math import ceil

from tools.benchmarks.growth.guest import Guest
from tools.benchmarks.growth.network import Counted, Ways, started, until
from tools.benchmarks.growth.subscriptions import EACH
from tools.simulator.world.mesh import SimNetwork

ROOM = 1 << 40
BATCH = 100


def measured(size: int) -> dict[str, float]:
    """Subscribe to `size` topics whose retained values another node has, and return the figures.

    All figures are CPU seconds: `here` and `there` of the two nodes, and `newcomer` as in `_newcomer`.
    """
    net = SimNetwork(1)
    here, there = (started(net, name, "heron", topics_bytes=ROOM) for name in ("heron", "stork"))
    until(net, lambda: bool(here.alive and there.alive), "two nodes that see each other")
    publisher, keys = Guest(Ways(net, there), "publisher"), [f"room/{i}/temp" for i in range(size)]
    for start in range(0, size, BATCH):
        publisher.publish(keys[start : start + BATCH])
    until(net, lambda: publisher.read() or publisher.answered == size, "everything is published")
    before = here.spent, there.spent
    ways = Ways(net, here)
    guests = [Guest(ways, f"reader{i}") for i in range(ceil(size / EACH))]
    for i, key in enumerate(keys):
        guests[i // EACH].subscribe(i + 1, "exact", key)
        if i % BATCH == 0:
            net.run(0.01)

    def all_have() -> bool:
        return sum(_drained(guest) for guest in guests) >= size

    until(net, all_have, f"{size} values")
    figures = {"here": here.spent - before[0], "there": there.spent - before[1]}
    return figures | {"newcomer": _newcomer(net, here)}


def _newcomer(net: SimNetwork, here: Counted) -> float:
    """Start a third node, and return the CPU seconds of `here` until that node knows all subscriptions."""
    before = here.spent
    third = started(net, "egret", "heron")
    want = here.core.parts.demand.interests
    until(net, lambda: _is_told(third, here, len(want)), "the newcomer knows what is wanted")
    return here.spent - before


def _is_told(node: Counted, of: Counted, count: int) -> bool:
    peer = node.core.parts.neighbours.peers.get(of.uuid)
    return peer is not None and len(peer.exchange.feed.queries) == count


def _drained(guest: Guest) -> int:
    guest.drain()
    return guest.got
