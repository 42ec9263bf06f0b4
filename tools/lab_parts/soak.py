"""The promises of a mesh in a long run: persistent load, random faults, and a count."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tools.lab_parts import ledger
from tools.lab_parts.company import start_company
from tools.lab_parts.faults import Victims, befall
from tools.lab_parts.frame import Stage, played
from tools.lab_parts.ledger import Count
from tools.lab_parts.soak_crowd import SoakCrowd
from tools.running.nodes import Node
from tools.running.processes import Failed, Processes

NAMES = ("heron", "stork", "egret")
CALM = (1.0, 4.0)  # s between two faults
LAST_ANSWERS, LAST_ARRIVALS = 180.0, 180.0  # s
QUIET = 3.0  # s in which duplicates would arrive
STALL = 60.0  # s without an answer until failure

Tell = Callable[[int, str], None]  # answered messages, and a description


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run.

    The run ends after `messages` answers. Each publisher sends `rate` messages per second. Faults of `rows`
    are drawn from `seed`.
    """

    messages: int
    rate: int
    rows: Sequence[int]
    seed: int


@dataclass(slots=True)
class Result:
    """The counts of a run."""

    counts: dict[str, Count] = field(default_factory=dict)  # by subscriber
    faults: Counter[int] = field(default_factory=Counter)  # by row
    answered: int = 0
    refused: int = 0
    dropped: int = 0  # reported to subscribers
    log: str = ""  # folder of the logs after an error

    @property
    def is_clean(self) -> bool:
        return all(count.is_clean for count in self.counts.values()) and not self.dropped


class Soak:
    """A run with one mesh: a node, a publisher and a subscriber of everything under each name."""

    def __init__(self, plan: Plan, stage: Stage[Processes], tell: Tell) -> None:
        self._plan, self._stage, self._tell = plan, stage, tell
        self._processes = stage.processes
        self._nodes: list[Node] = []
        self._crowd = SoakCrowd(stage.processes, NAMES, plan.rate)
        self.result = Result()

    def run(self) -> None:
        stage = self._stage
        self._nodes = start_company(stage.processes, stage.lab, NAMES, stage.disks)
        self._crowd.gather()
        chance = random.Random(self._plan.seed)
        victims = Victims(stage.processes, self._nodes, stage.lab, chance, stage.disks)
        while self._answered() < self._plan.messages:
            self._go_on(self._processes.pause, chance.uniform(*CALM))
            if self._plan.rows and self._answered() < self._plan.messages:
                row = chance.choice(self._plan.rows)
                self._tell(self.result.answered, f"row {row}")
                befall(row, victims)
                self.result.faults[row] += 1
            self._advances(self.result.answered)
        self._end()

    def _go_on(self, pause: Callable[[float], None], seconds: float) -> None:
        self._tell(self._answered(), "calm")
        pause(seconds)

    def _advances(self, before: int) -> None:
        """Wait for further answers. Raises Failed if there are none within STALL seconds."""
        self._processes.until(lambda: self._answered() > before, STALL, "no message was answered")

    def _answered(self) -> int:
        self.result.answered = self._crowd.answered()
        return self.result.answered

    def _end(self) -> None:
        """Stop the publishers, and wait until everything is answered and has arrived, or time is up."""
        self._tell(self._answered(), "the last answers")
        self._crowd.hush()
        self._processes.until(self._crowd.is_done, LAST_ANSWERS, "not every message was answered")
        self._tell(self._answered(), "the last arrivals")
        with suppress(Failed):  # lost messages
            self._processes.until(lambda: not self._count(), LAST_ARRIVALS, "not everything came")
        self._processes.pause(QUIET)
        self._count()

    def _count(self) -> int:
        """Count by subscriber, and return the number of missing messages."""
        result = self.result
        said = dict(enumerate(self._crowd.all_said().values()))
        none = ledger.Came().described()
        result.dropped = 0
        for name in NAMES:
            found = self._crowd.came(name)
            each = (
                ledger.counted(book["answered"], found["came"].get(str(number), none))
                for number, book in said.items()
            )
            result.counts[name] = sum(each, Count())
            result.dropped += found["dropped"]
        result.refused = sum(ledger.size(book["refused"]) for book in said.values())
        return sum(count.lost for count in result.counts.values())


def soaked(plan: Plan, tell: Tell) -> Result:
    """Run the plan, and return its result, as `played` does."""

    def made(stage: Stage[Processes]) -> Soak:
        return Soak(plan, stage, tell)

    return played(plan, NAMES, Processes(), made, (".json", ".err"))
