"""The live nodes of a generated mesh, and the nodes that write the states of each."""

from collections.abc import Iterable

from tools.generating.cast import Machine, asked_by, linked_to
from tools.generating.fates import End, Life
from tools.generating.segments import Log
from tools.generating.wording import about

EVERYBODY = 8  # most nodes that all write each state


class Alive:
    """A boot of a node while it runs: its log, and its counters since the start."""

    def __init__(self, machine: Machine, life: Life, began: int, log: Log, count: int) -> None:
        self.machine = machine
        self.life = life
        self.began = began  # µs, true time
        self.log = log
        self.about = about(machine, life.boot)
        self.version = 0
        self.writers: list[Log] = []  # logs of its states, besides its own
        self.asked = asked_by(machine.index, count)
        self.linked = linked_to(machine.index, count)
        # index of a machine -> chosen, sent, asked, answered, seconds
        self.given: dict[int, list[float]] = {}
        self.requested: dict[int, list[float]] = {}  # requests, replies, failed, lost, seconds
        self.taken = [[0, 0] for _ in machine.topics]  # messages, bytes
        self.waited = [0] * len(machine.queues)
        self.counted_until = began

    @property
    def dies(self) -> bool:
        """Whether the boot ends without a goodbye."""
        return self.life.how is not End.STOPPED


class Roster:
    """The live nodes.

    `alive` has them by index, and `speakers` in their order within a tick.
    """

    def __init__(self) -> None:
        self.alive: dict[int, Alive] = {}
        self.speakers: list[Alive] = []

    def add(self, nodes: Iterable[Alive]) -> None:
        self.alive.update((node.machine.index, node) for node in nodes)
        self._changed()

    def remove(self, nodes: Iterable[Alive]) -> None:
        for node in nodes:
            del self.alive[node.machine.index]
        self._changed()

    def others(self, node: Alive) -> list[Alive]:
        return [other for other in self.speakers if other is not node]

    def _changed(self) -> None:
        self.speakers = [self.alive[index] for index in sorted(self.alive)]
        ring = sorted(self.speakers, key=lambda node: node.machine.uuid)
        for at, node in enumerate(ring):
            count = len(ring) - 1 if len(ring) <= EVERYBODY else 2
            node.writers = [ring[(at + step) % len(ring)].log for step in range(1, count + 1)]
