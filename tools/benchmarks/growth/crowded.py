"""The CPU time and memory that one member of a large simulated mesh needs for discovery."""

import gc
import time
import tracemalloc
from random import Random

from mesh.discovery.member import Node, NodeLife, Rumour
from mesh.discovery.membership import DirectProbe, Membership

MEMBERS = 1000
PROBED = 600  # s that are measured
HEARD = 100  # other messages per second, signs of life
MEGABYTE = 1_000_000


def introduced(i: int) -> Node:
    """Return node `i`, as a node with keys introduces itself."""
    uuid = Random(i).randbytes(16)
    address = f"tcp://10.0.{i // 250}.{i % 250 + 1}"
    return Node(uuid, f"node{i}", 1, f"{address}:7600", (), f"{address}:7601", Random(-i).randbytes(32))


def crowded(size: int = MEMBERS) -> tuple[Membership, list[Node]]:
    """Return a member of a mesh of `size` nodes that has met all others, and the others."""
    nodes = [introduced(i) for i in range(size)]
    members = Membership(nodes[0], Random(0).random)
    for node in nodes[1:]:
        members.on_introduction(node, 0.0)
    return members, nodes[1:]


def memory() -> float:
    """Return the MB that one member of a mesh of MEMBERS nodes allocates for all of them."""
    gc.collect()
    tracemalloc.start()
    kept = crowded()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept[0].count == MEMBERS
    return used / MEGABYTE


def cost(size: int = MEMBERS, seconds: int | None = None) -> float:
    """Return the CPU use of one member in percent of a core, per simulated second.

    In each second, the member answers a probe, sends its own probes, and receives 8 rumors, about half of
    them news, and 100 other messages. `seconds` are simulated; None means PROBED.
    """
    members, others = crowded(size)
    seconds = seconds or PROBED
    random = Random(1)
    denials = [0] * len(others)
    start = time.process_time()
    for second in range(1, seconds + 1):
        rumours = tuple(rumour_of(others, denials, random, second) for _ in range(8))
        by = random.choice(others).uuid
        members.probe(by, second, members.me.uuid, members.me.boot, rumours, float(second))
        for _ in range(HEARD):
            members.on_message(random.choice(others).uuid, float(second))
        while members.deadline() <= second + 1:
            now = members.deadline()
            for ask in members.tick(now):
                if isinstance(ask, DirectProbe):
                    members.answered(ask.to, ask.number, True, rumours, now + 0.001)
    return 100 * (time.process_time() - start) / seconds


def rumour_of(others: list[Node], denials: list[int], random: Random, second: int) -> Rumour:
    """Return a rumor that a random node is alive; half of the time, increment its denials first."""
    i = random.randrange(len(others))
    denials[i] += random.random() < 0.5
    return Rumour(others[i], denials[i], NodeLife.ALIVE)
