"""The cost of following the membership of a large mesh for one member, in simulated time."""

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
    """Return one of many nodes, as nodes with keys introduce themselves."""
    uuid = Random(i).randbytes(16)
    address = f"tcp://10.0.{i // 250}.{i % 250 + 1}"
    return Node(uuid, f"node{i}", 1, f"{address}:7600", (), f"{address}:7601", Random(-i).randbytes(32))


def crowded(size: int = MEMBERS) -> tuple[Membership, list[Node]]:
    """Return a member of a large mesh that has met all others, and the others."""
    nodes = [introduced(i) for i in range(size)]
    members = Membership(nodes[0], Random(0).random)
    for node in nodes[1:]:
        members.hear(node, 0.0)
    return members, nodes[1:]


def memory() -> float:
    """Return the megabytes of memory for all members."""
    gc.collect()
    tracemalloc.start()
    kept = crowded()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept[0].count == MEMBERS
    return used / MEGABYTE


def cost(size: int = MEMBERS, seconds: int | None = None) -> float:
    """Return the CPU use of one member in percent of a core, while a suspicion is refuted every second.

    The member answers one probe per second, sends one, and all packets are full of rumors.
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
    """Return a random rumor, which is news half of the time."""
    i = random.randrange(len(others))
    denials[i] += random.random() < 0.5
    return Rumour(others[i], denials[i], NodeLife.ALIVE)
