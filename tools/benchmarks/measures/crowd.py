"""The cost of following the node states of a thousand nodes for one of them, in simulated time."""

import gc
import time
import tracemalloc
from collections.abc import Callable
from random import Random

from mesh.discovery.gossip import Known, StateGossip, StateLine, StateMessage, decode, encode
from mesh.security.signing import public_key, sign, verify
from tools.models.gossip_mesh import INTERVAL, GossipMesh, line, state

MEMBERS = 1000
INTERVALS = 10  # that are measured
MEGABYTE = 1_000_000
SEED, TEXT = bytes(32), bytes(300)  # as long as a signed state
KEY, SIGNATURE = public_key(SEED), sign(SEED, TEXT)
BOOT = 1  # of all


class Timed:
    """The gossip of one node; `spent` sums the CPU s for reading, checking and writing its messages."""

    def __init__(self, gossip: StateGossip) -> None:
        self.gossip = gossip
        self.spent = 0.0
        self.known, self.gone, self.listen_to = gossip.known, gossip.remove_node, gossip.listen_to

    def heard(self, message: StateMessage, boot_of: Callable[[bytes], int | None], now: float) -> list[Known]:
        frame = encode(message)
        start = time.process_time()
        news = self.gossip.heard(decode(frame), boot_of, now)
        self.spent += time.process_time() - start
        return news

    def own(self, mine: StateLine) -> None:
        self.gossip.own(mine)

    def outgoing(self, alive: int, now: float) -> StateMessage:
        start = time.process_time()
        message = self.gossip.outgoing(alive, now)
        encode(message)
        self.spent += time.process_time() - start
        return message


def is_signed(told: StateLine) -> bool:
    """Return whether a constant signature is right, at the cost of checking the real one."""
    return verify(KEY, SIGNATURE, TEXT)


def cost(size: int, intervals: int) -> float:
    """Return the CPU use of one node in a mesh of `size` nodes, in percent of a core.

    The use is that of `intervals` simulated intervals in which the node knows all others.
    """
    gc.disable()  # it would walk through a thousand nodes' memory
    try:
        mesh = GossipMesh(size)
        uuid, node = next(iter(mesh.nodes.items()))
        timed = Timed(StateGossip(uuid, Random(1).random, INTERVAL, is_signed))
        node.gossip = timed  # type: ignore[assignment]
        mesh.tell_all()
        timed.spent = 0.0
        mesh.round(intervals)
        assert mesh.knows_all(node)
    finally:
        gc.enable()
    return 100 * timed.spent / (intervals * INTERVAL)


def memory(size: int) -> float:
    """Return the MB that one node needs for the states of `size` nodes."""
    rng = Random(size)
    alive = {rng.randbytes(16): BOOT for _ in range(size)}
    gc.collect()
    tracemalloc.start()
    gossip = StateGossip(rng.randbytes(16), rng.random, INTERVAL)
    for uuid in alive:
        gossip.heard(StateMessage(uuid, BOOT, 1, (line(state(uuid)),)), alive.get, 0.0)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(gossip.known) == size
    return used / MEGABYTE
