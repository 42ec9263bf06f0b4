"""The faults of long runs, by the row of the fault matrix; `befall` also ends the fault."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from signal import SIGCONT, SIGSTOP

from tools.lab_parts.disks import SmallDisk
from tools.lab_parts.netlab import NetLab
from tools.running.nodes import Node
from tools.running.processes import Processes

LOOPS, FLAPS = 3, 3
READY = 180.0  # s until a start on a busy machine
FULL = 43
NO_SPACE = "[DATA_DIR]"  # code of a node without space to start


@dataclass(frozen=True, slots=True)
class Victims:
    """The targets of faults: nodes (the i-th is on host i), the lab if there is one, and disks by node."""

    processes: Processes
    nodes: Sequence[Node]
    lab: NetLab | None
    chance: random.Random
    disks: Mapping[str, SmallDisk]

    def pause(self, least: float, most: float) -> None:
        self.processes.pause(self.chance.uniform(least, most))

    def back(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            node.launch()
        self.processes.until(lambda: all(node.is_ready() for node in nodes), READY, "no restart")

    @property
    def network(self) -> NetLab:
        assert self.lab is not None
        return self.lab

    def hosts(self) -> list[int]:
        """Return the hosts in random order."""
        hosts = list(self.network.hosts)
        self.chance.shuffle(hosts)
        return hosts


def kill_one(v: Victims) -> None:
    node = v.chance.choice(v.nodes)
    node.kill()
    v.pause(0.0, 2.0)
    v.back([node])


def kill_all(v: Victims) -> None:
    for node in v.nodes:
        node.kill()
    v.back(v.nodes)


def crash_loop(v: Victims) -> None:
    node = v.chance.choice(v.nodes)
    for _ in range(LOOPS):
        node.kill()
        v.back([node])


def stand_still(v: Victims) -> None:
    node = v.chance.choice(v.nodes)
    node.program.signal(SIGSTOP)
    try:
        v.pause(1.0, 4.0)
    finally:
        node.program.signal(SIGCONT)


def split(v: Victims) -> None:
    alone, *others = v.hosts()
    v.network.split([alone], others)
    v.pause(5.0, 12.0)


def cut_one_way(v: Victims) -> None:
    one, other, *_ = v.hosts()
    v.network.cut_oneway(one, other)
    v.pause(3.0, 8.0)


def cut_pair(v: Victims) -> None:
    one, other, *_ = v.hosts()
    v.network.part(one, other)
    v.pause(3.0, 8.0)


def bad_ways(v: Victims) -> None:
    for one in v.network.hosts:
        for other in v.network.hosts:
            if one < other:
                loss, delay = v.chance.choice((0.01, 0.05, 0.2)), v.chance.choice((0.0, 0.05, 0.2))
                v.network.shape(one, other, loss=loss, delay=delay, jitter=0.02, duplicate=0.05, reorder=0.05)
    v.pause(3.0, 6.0)


def flap(v: Victims) -> None:
    one, other, *_ = v.hosts()
    for _ in range(FLAPS):
        v.network.part(one, other)
        v.processes.pause(1.0)
        v.network.join()
        v.processes.pause(1.0)


def black_hole(v: Victims) -> None:
    v.network.blackhole(v.hosts()[0])
    v.pause(7.0, 10.0)


def fill_disk(v: Victims) -> None:
    """Fill the disk of a node for a while; half of the time, kill the node and start it without space."""
    node = v.chance.choice(v.nodes)
    disk = v.disks[node.name]
    disk.fill()
    try:
        v.pause(1.0, 5.0)
        if v.chance.random() < 0.5:
            node.kill()
            disk.fill()
            node.launch()
            v.pause(0.0, 5.0)
    finally:
        disk.empty()
    # A start without space may fail later than this, on a busy machine.
    v.processes.until(lambda: node.program.ended() or node.is_ready(), READY, "no restart")
    if node.program.ended() and NO_SPACE in node.program.words():
        v.back([node])
    v.processes.until(node.is_ready, READY, "no restart")


Fault = Callable[[Victims], None]

PROCESS: Mapping[int, Fault] = {4: kill_one, 18: kill_all, 19: crash_loop, 20: stand_still}
NETWORK: Mapping[int, Fault] = {  # these need a lab
    27: split,
    28: cut_one_way,
    29: cut_pair,
    31: bad_ways,
    32: flap,
    33: black_hole,
}
DISK: Mapping[int, Fault] = {FULL: fill_disk}  # these need root
ROWS: Mapping[int, Fault] = {**PROCESS, **NETWORK, **DISK}


def befall(row: int, victims: Victims) -> None:
    """Run the fault of `row`, and heal the network afterwards."""
    ROWS[row](victims)
    if victims.lab is not None:
        victims.lab.join()
