"""A week in production, in minutes, and its effects on a mesh.

Three nodes of the last release, with days of history and under load, are upgraded one by one and backed up;
one loses its disk, and is restored from its backup. Then messages are counted, and growth is measured.
"""

import json
import time
from collections.abc import Callable
from contextlib import suppress

from tools.lab_parts.frame import Stage, played
from tools.lab_parts.lively import Lively
from tools.lab_parts.soak import LAST_ANSWERS, LAST_ARRIVALS, QUIET
from tools.lab_parts.soak_crowd import SoakCrowd
from tools.lab_parts.week import nodes
from tools.lab_parts.week.count import Restored, Weekly, count
from tools.lab_parts.week.jobs import Jobs
from tools.lab_parts.week.nodes import NAMES
from tools.lab_parts.week.plan import Step, WeekPlan, WeekResult
from tools.lab_parts.week.steps import Operator
from tools.lab_parts.week.watch import Watch
from tools.running.nodes import READY, all_see
from tools.running.processes import ROOT, Failed

LAST_RELEASE = ROOT / "tests" / "releases" / "wire1.zip"
UPGRADE, BACK_UP, LOSE = 0.05, 0.2, 0.3  # start times, as shares of the run
LOOKS = 300  # growth samples in a whole run
SOONEST = 0.5  # s between two
CHATTER = 40  # messages per second at each node, each logged
LAST_WORDS = "ends after"  # last log line of a stopped node

Tell = Callable[[float, str], None]  # elapsed s, and a description


class Week:
    """A run with one mesh: three nodes, each with a publisher, a subscriber and a chatter client."""

    def __init__(self, plan: WeekPlan, processes: Lively, tell: Tell) -> None:
        self._plan, self._processes, self._tell = plan, processes, tell
        self._nodes = nodes.made(processes, ("env", f"PYTHONPATH={LAST_RELEASE}"), plan.kept)
        self._crowd = SoakCrowd(processes, NAMES, plan.rate)
        self._operator = Operator(processes, self._nodes, self._crowd)
        self._jobs = Jobs(processes)
        self._watch = Watch(processes, self._nodes, max(SOONEST, plan.seconds / LOOKS), plan.log, plan.kept)
        self._backed_up: dict[str, int] = {}
        self._restored: Restored | None = None
        self._began = time.monotonic()
        self.result = WeekResult()

    def run(self) -> None:
        self._do("the days before are made up", self._give_a_past)
        self._do("three nodes of the last release are started", self._start)
        self._began = time.monotonic()
        for share, what, step in (
            (UPGRADE, "each is upgraded", self._upgrade),
            (UPGRADE, "jobs are put for next week", lambda: self._jobs.put(NAMES)),
            (UPGRADE, "what they have written down is read", self._read_events),
            (BACK_UP, "each is backed up", self._back_up),
            (LOSE, "one loses its disk, and is restored", self._lose),
        ):
            self._load_until(share)
            self._do(what, step)
        self._load_until(1.0)
        self.result.growth = self._watch.growth()
        self._do("all is counted", self._end)

    def _do(self, what: str, step: Callable[[], str]) -> None:
        self._tell(min(self._over(), self._plan.seconds), what)
        began = time.monotonic()
        showed = step()
        self.result.steps.append(Step(what, time.monotonic() - began, showed))

    def _over(self) -> float:
        return time.monotonic() - self._began

    def _load_until(self, share: float) -> None:
        self._tell(min(self._over(), self._plan.seconds), "everybody at work")
        self._processes.pause(max(0.0, share * self._plan.seconds - self._over()))

    def _give_a_past(self) -> str:
        segments, size = nodes.give_a_past(self._processes, self._plan.days * 24, self._plan.seed)
        return f"{segments:,} segments, {size / 1e6:,.0f} MB"

    def _start(self) -> str:
        for node in self._nodes:
            node.launch()
        self._processes.until(
            lambda: all(node.is_ready() for node in self._nodes), READY, "not all were ready"
        )
        self._processes.until(lambda: all_see(self._processes, self._nodes), READY, "no mesh")
        self._processes.meanwhile = self._watch.look
        self._crowd.gather()
        for at, name in enumerate(NAMES):
            domain = nodes.domain_of(NAMES[at - 1])
            self._processes.start(f"chat-{name}", "tools.lab_parts.week.chatter", name, domain, str(CHATTER))
        return f"{self._plan.rate:,} messages a second at each"

    def _upgrade(self) -> str:
        for node in self._nodes:
            self._operator.upgrade(node)
        return "one by one, each well before the next"

    def _read_events(self) -> str:
        """Check that each node has events of today, and describe how far back the events of all nodes go."""
        days = []
        for node in self._nodes:
            since = f"{self._plan.days + 1:g}d"
            said = self._operator.mesh("events", "events", "--json", "--since", since, node=node.name).out
            ages = [time.time() - json.loads(line)["wall"] / 1e9 for line in said.read_text().splitlines()]
            if not ages or min(ages) > self._over() + READY:
                self.result.wrong.append(f"{node.name} has written down nothing of today")
            days.append(max(ages, default=0) / 86_400)
        return f"events of {min(days):.2f} days at least"

    def _back_up(self) -> str:
        self._backed_up = self._operator.answered()
        sizes = [self._operator.back_up(node) for node in self._nodes]
        return f"{max(sizes) / 1e3:,.0f} kB at most, each checked"

    def _lose(self) -> str:
        node = self._nodes[0]
        self._restored = self._operator.lose_and_restore(node, self._backed_up)
        return f"{node.name}, with --accept-rollback"

    def _end(self) -> str:
        """Wait until everything is answered and has arrived, or time is up; then stop all nodes."""
        self._crowd.hush()
        self._processes.until(self._crowd.is_done, LAST_ANSWERS, "not every message was answered")
        with suppress(Failed):  # lost messages
            self._processes.until(
                lambda: not any(it.count.lost for it in self._count().values()), LAST_ARRIVALS, ""
            )
        self._processes.pause(QUIET)
        self.result.counts = self._count()
        if wrong := self._jobs.take(NAMES):
            self.result.wrong.append(wrong)
        for node in self._nodes:
            node.stop()
        self._read_logs()
        return f"{self._crowd.answered():,} messages answered, logs rotated {self._watch.rotated} times"

    def _count(self) -> dict[str, Weekly]:
        return count(self._crowd.all_said(), self._crowd.all_came(), self._restored)

    def _read_logs(self) -> None:
        for node in self._nodes:
            text = self._watch.written(node)
            if "\0" in text or LAST_WORDS not in text:
                self.result.wrong.append(f"the log of {node.name} is not whole")
            if "Traceback" in text:
                self.result.wrong.append(f"{node.name} has written a traceback")
        for name in NAMES:
            if dropped := self._crowd.came(name)["dropped"]:
                self.result.wrong.append(f"the subscriber at {name} was told that {dropped:,} were dropped")


def a_week(plan: WeekPlan, tell: Tell) -> WeekResult:
    """Run the plan, and return its result, as `played` does."""

    def made(stage: Stage[Lively]) -> Week:
        return Week(plan, stage.processes, tell)

    return played(plan, NAMES, Lively(), made, (".json", ".err", ".1", ".2", ".3"))
