"""The promises of services at five nodes in a long run: clients come and go, nodes and network fail."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tools.lab_parts.company import start_company
from tools.lab_parts.crowd import Crowd, Place
from tools.lab_parts.faults import READY, Victims, befall
from tools.lab_parts.frame import Stage, played
from tools.lab_parts.lively import Lively
from tools.lab_parts.service_crowd import ASKER, SERVER, ServiceRoles
from tools.lab_parts.service_ledger import Anomaly, Book, judged
from tools.lab_parts.soak import CALM
from tools.running.nodes import Node

NAMES = ("heron", "egret", "crane", "ibis", "wren")
MANY, FEW = "many/here", "few/here"  # addresses of ten servers, and of one
SERVERS = {MANY: 10, FEW: 1}
SETTLES, CALM_AT_THE_END = 15.0, 10.0  # s until all is healed, and of calm
LAST_ENDS = 180.0  # s

Tell = Callable[[float, str], None]  # elapsed s, and a description


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """The plan: `seconds` with `rate` requests per second of each client, and faults from `seed`."""

    seconds: float
    rate: int
    rows: Sequence[int]
    seed: int


@dataclass(slots=True)
class ServiceResult:
    """The result of a run: the records of its clients, the faults, and the anomalies."""

    books: dict[str, Book]
    faults: Counter[str] = field(default_factory=Counter)
    anomalies: dict[str, list[Anomaly]] = field(default_factory=dict)  # by address
    log: str = ""  # folder of the logs after an error

    @property
    def is_clean(self) -> bool:
        return not any(self.anomalies.values())


class ServiceSoak:
    """A run with one mesh, two addresses, and a crowd of clients."""

    def __init__(self, plan: ServicePlan, stage: Stage[Lively], tell: Tell) -> None:
        self._plan, self._stage, self._tell = plan, stage, tell
        self._processes = stage.processes
        self._chance = random.Random(plan.seed)
        self._nodes: list[Node] = []
        self.result = ServiceResult({MANY: Book(), FEW: Book()})
        self._roles = ServiceRoles(self._chance, plan.rate, self.result.books)
        self._crowd = Crowd(stage.processes, stage.inside(NAMES), self._chance, self._roles)

    def run(self) -> None:
        stage = self._stage
        self._nodes = start_company(stage.processes, stage.lab, NAMES, stage.disks)
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
        """Start a requester of each address at each node, and servers at random nodes."""
        places, servers = self._crowd.places, 0
        for number, address in enumerate(SERVERS):
            places += [Place(ASKER, len(NAMES) * number + at, address, node) for at, node in enumerate(NAMES)]
            places += [Place(SERVER, servers + i, address) for i in range(SERVERS[address])]
            servers += SERVERS[address]
        self._processes.meanwhile = self._crowd.look_after
        self._processes.until(self._crowd.all_there, READY, "no clients")
        self._crowd.is_restless = True

    def _end(self) -> None:
        """Stop the events of clients, wait for a while of calm, and then until all requests have ended."""
        until, crowd, seconds = self._processes.until, self._crowd, self._plan.seconds
        crowd.is_restless = False
        self._tell(seconds, "the last requests")
        until(crowd.all_there, READY, "not everybody was there")
        self._processes.pause(SETTLES)
        for book in self.result.books.values():
            book.calm = time.monotonic()
        self._processes.pause(CALM_AT_THE_END)
        crowd.dismiss(ASKER)
        until(crowd.have_left, LAST_ENDS, "not every request has ended, or not everybody left")
        crowd.dismiss(SERVER)
        until(crowd.have_left, LAST_ENDS, "a server did not leave")
        self._roles.read(self._processes.place)
        self.result.faults += crowd.fates
        self.result.anomalies = {address: judged(book) for address, book in self.result.books.items()}


def services_soaked(plan: ServicePlan, tell: Tell) -> ServiceResult:
    """Run the plan, and return its result, as `played` does."""

    def made(stage: Stage[Lively]) -> ServiceSoak:
        return ServiceSoak(plan, stage, tell)

    return played(plan, NAMES, Lively(), made, (".txt", ".err"))
