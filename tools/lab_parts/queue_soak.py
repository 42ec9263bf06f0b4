"""The promises of queues at five nodes in a long run: clients come and go, nodes and network fail."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import mesh
from mesh.errors import MeshError
from tools.lab_parts.company import start_company
from tools.lab_parts.crowd import Crowd, Place
from tools.lab_parts.faults import READY, Victims, befall
from tools.lab_parts.frame import Stage, played
from tools.lab_parts.lively import Lively
from tools.lab_parts.queue_crowd import PUTTER, TAKER, QueueRoles
from tools.lab_parts.queue_ledger import Anomaly, Book, judged
from tools.lab_parts.soak import CALM
from tools.running.nodes import Node

NAMES = ("heron", "egret", "crane", "ibis", "wren")
WORK, HOME = "work", "home"  # a queue with moves, and one without
TAKERS = 15  # of the first queue; the other has five
ATTEMPTS = 255  # no dead letters
LAST_ANSWERS, DRAINED, LAST_ACKS = 180.0, 300.0, 180.0  # s
QUIET = 2.0  # s in which duplicates would arrive

Tell = Callable[[float, str], None]  # elapsed s, and a description


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """The plan: `seconds` with `rate` messages per second of each producer, and faults from `seed`."""

    seconds: float
    rate: int
    rows: Sequence[int]
    seed: int


@dataclass(slots=True)
class QueueResult:
    """The result of a run: the records of its clients, the faults, and the anomalies."""

    books: dict[str, Book]
    faults: Counter[str] = field(default_factory=Counter)
    anomalies: dict[str, list[Anomaly]] = field(default_factory=dict)  # by queue
    log: str = ""  # folder of the logs after an error

    @property
    def is_clean(self) -> bool:
        return not any(self.anomalies.values())


class QueueSoak:
    """A run with one mesh, two queues, and a crowd of clients."""

    def __init__(self, plan: QueuePlan, stage: Stage[Lively], tell: Tell) -> None:
        self._plan, self._stage, self._tell = plan, stage, tell
        self._processes = stage.processes
        self._chance = random.Random(plan.seed)
        self._nodes: list[Node] = []
        self.result = QueueResult({WORK: Book(), HOME: Book(keeps_order=True)})
        self._roles = QueueRoles(self._chance, plan.rate, self.result.books)
        self._crowd = Crowd(stage.processes, stage.inside(NAMES), self._chance, self._roles)

    def run(self) -> None:
        stage = self._stage
        self._nodes = start_company(stage.processes, stage.lab, NAMES, stage.disks)
        self._ask(0, _declare)
        self._gather()
        victims = Victims(stage.processes, self._nodes, stage.lab, self._chance, stage.disks)
        began = time.monotonic()
        while (over := time.monotonic() - began) < self._plan.seconds:
            self._tell(over, "calm")
            self._processes.pause(self._chance.uniform(*CALM))
            if self._plan.rows:
                row = self._chance.choice(self._plan.rows)
                self._tell(time.monotonic() - began, f"row {row}")
                befall(row, victims)
                self.result.faults[f"row {row}"] += 1
        self._end()

    def _gather(self) -> None:
        """Start the clients of both queues, and let events befall them.

        WORK has producers and consumers anywhere. HOME has a producer and a consumer at each node.
        """
        places = self._crowd.places
        for number, node in enumerate(NAMES):
            places += [Place(PUTTER, number, WORK), Place(PUTTER, len(NAMES) + number, HOME, node)]
            places.append(Place(TAKER, TAKERS + number, HOME, node))
        places += [Place(TAKER, number, WORK) for number in range(TAKERS)]
        self._processes.meanwhile = self._crowd.look_after
        self._processes.until(self._crowd.all_there, READY, "no clients")
        self._crowd.is_restless = True

    def _end(self) -> None:
        """Stop the events of clients, and wait until all messages are answered, settled and acked."""
        until, crowd, seconds = self._processes.until, self._crowd, self._plan.seconds
        crowd.is_restless = False
        self._tell(seconds, "the last answers")
        until(crowd.all_there, READY, "not everybody was there")
        crowd.dismiss(PUTTER)
        until(crowd.have_left, LAST_ANSWERS, "not every put was answered, or not everybody left")
        self._tell(seconds, "the last messages")
        until(self._is_drained, DRAINED, "messages were left in the queues")
        self._processes.pause(QUIET)
        crowd.dismiss(TAKER)
        until(crowd.have_left, LAST_ACKS, "a consumer did not leave")
        self._roles.read(self._processes.place)
        self.result.faults += crowd.fates
        self.result.anomalies = {name: judged(book) for name, book in self.result.books.items()}

    def _is_drained(self) -> bool:
        return all(self._ask(at, _is_empty) for at in range(len(NAMES)))

    def _ask(self, at: int, what: Callable[[mesh.Client], Coroutine[Any, Any, bool]]) -> bool:
        async def asked() -> bool:
            environ = {"MESH_STATE_DIR": str(self._processes.place)}
            async with mesh.connect(NAMES[at], environ=environ, timeout=READY) as m:
                return await what(m)

        return asyncio.run(asked())


async def _declare(m: mesh.Client) -> bool:
    await m.queue(WORK).declare(max_attempts=ATTEMPTS)
    await m.queue(HOME).declare(max_attempts=ATTEMPTS, distribution="independent", redistribution=None)
    return True


async def _is_empty(m: mesh.Client) -> bool:
    """Return whether the queues have no messages, and no node's figures are missing.

    The bytes are checked, because messages that a crash left uncertain are neither ready nor out.
    """
    try:
        rows = [await m.queue(name).info() for name in (WORK, HOME)]
    except MeshError:
        return False
    return not any(row.bytes or row.missing for row in rows)


def queues_soaked(plan: QueuePlan, tell: Tell) -> QueueResult:
    """Run the plan, and return its result, as `played` does."""

    def made(stage: Stage[Lively]) -> QueueSoak:
        return QueueSoak(plan, stage, tell)

    return played(plan, NAMES, Lively(), made, (".txt", ".err"))
