"""The promises of a mesh while nodes die: publishers, subscribers, kill -9, and checks."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGTERM

from tools.benchmarks.pages.report import Report
from tools.benchmarks.trials.history import Answer, Killed, read_answers, read_arrivals
from tools.benchmarks.trials.outcome import Outcome, told
from tools.benchmarks.trials.plan import Kill
from tools.benchmarks.trials.scenarios import Scenario
from tools.benchmarks.trials.verdict import Anomaly
from tools.running.nodes import READY, Node
from tools.running.processes import Failed, Processes, Program

SETTLING = 2.0  # s of traffic before and after all kills
LAST_ANSWERS = 90.0  # s
STALL = 10.0  # s without news until messages are lost
QUIET = 0.5  # s in which duplicates would arrive


class Campaign:
    """A mesh whose nodes are killed, with its clients."""

    def __init__(
        self, scenario: Scenario, processes: Processes, rate: int, advance: Callable[[], None]
    ) -> None:
        self._scenario = scenario
        self._processes = processes
        self._rate = rate
        self._advance = advance
        self._nodes: dict[str, Node] = {}
        self._due: dict[str, float] = {}  # dead nodes -> when they start again
        self._died: dict[str, float] = {}
        self.killed: list[Killed] = []
        self._publishers: list[Program] = []
        self._subscribers: list[Program] = []

    def run(self, plan: list[Kill]) -> None:
        """Run all kills, and wait until the promised messages have arrived or arrivals stall."""
        self._nodes = {node.name: node for node in self._scenario.start(self._processes)}
        self._start_clients()
        self._pause(SETTLING)
        for kill in plan:
            self._pause(kill.after)
            self._kill(kill)
            self._advance()
        self._wait(
            lambda: not self._due and all(n.is_ready() for n in self._nodes.values()), READY, "no restart"
        )
        self._pause(SETTLING)
        for program in self._publishers:
            program.signal(SIGTERM)
        self._wait(
            lambda: all(p.ended() for p in self._publishers), LAST_ANSWERS, "publishers got no answers"
        )
        self._arrive()
        self._processes.end(self._subscribers)

    def _start_clients(self) -> None:
        for subscriber, query in self._scenario.subscribers.items():
            program = self._processes.start(
                subscriber.name,
                "tools.benchmarks.loads.kill_subscriber",
                subscriber.node,
                json.dumps(query),
                f"{subscriber.name}.txt",
            )
            self._subscribers.append(program)
        paths = [self._processes.place / f"{s.name}.txt" for s in self._scenario.subscribers]
        self._wait(lambda: all(path.exists() for path in paths), READY, "not every subscriber got ready")
        for p in self._scenario.publishers:
            program = self._processes.start(
                p.name,
                "tools.benchmarks.loads.kill_publisher",
                p.node,
                p.topic,
                p.domain,
                p.name,
                str(self._rate),
                f"{p.name}.txt",
            )
            self._publishers.append(program)

    def _kill(self, kill: Kill) -> None:
        """Kill a node once it is running, and plan its restart."""
        node = self._nodes[kill.node]
        self._wait(
            lambda: node.name not in self._due and node.is_ready(), READY, f"{node.name} was not ready"
        )
        self._died[node.name] = time.monotonic()
        node.kill()
        self._due[node.name] = self._died[node.name] + kill.down

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= end, seconds + READY, "time stood still")

    def _wait(self, condition: Callable[[], object], limit: float, failure: str) -> None:
        self._processes.until(condition, limit, failure, meanwhile=self._look_after)

    def _look_after(self) -> None:
        """Restart dead nodes when it is time. Raises Failed if a client has failed."""
        now = time.monotonic()
        for name, due in list(self._due.items()):
            if now >= due:
                del self._due[name]
                self._nodes[name].launch()
                self.killed.append(Killed(name, self._died[name], time.monotonic()))
        for name, node in self._nodes.items():
            if name not in self._due:
                node.is_ready()
        for program in (*self._publishers, *self._subscribers):
            if program.code:
                raise Failed(f"{program.name} ended by itself: {program.words()}")

    def _arrive(self) -> None:
        """Wait until each subscriber has as many messages as were promised, or arrivals stall."""
        promised = {
            name: sum(a.is_promised for a in answers.values()) for name, answers in self._answers().items()
        }
        wanted = {s.name: sum(promised[p.name] for p in s.publishers) for s in self._scenario.subscribers}
        last: dict[str, int] = {}
        since = time.monotonic()
        while time.monotonic() - since < STALL:
            found = {name: len(self._lines(name)) for name in wanted}
            if found != last:
                last, since = found, time.monotonic()
            if all(found[name] >= wanted[name] for name in wanted):
                break
            self._processes.pause(QUIET)
        self._processes.pause(QUIET)

    def _answers(self) -> dict[str, dict[int, Answer]]:
        return {p.name: read_answers(self._lines(p.name)) for p in self._scenario.publishers}

    def _lines(self, name: str) -> list[str]:
        return (self._processes.place / f"{name}.txt").read_text().splitlines()

    def outcome(self, seed: int) -> Outcome:
        arrivals = {s.name: read_arrivals(self._lines(s.name)) for s in self._scenario.subscribers}
        outcome = Outcome(self._scenario, seed, self.killed, self._answers(), arrivals)
        outcome.judge()
        return outcome


def measured(scenario: Scenario, count: int, seed: int, rate: int, advance: Callable[[], None]) -> Report:
    """Run a campaign of `count` kills, at `rate` messages per second from each publisher."""
    return told(killed_and_judged(scenario, count, seed, rate, advance))


def killed_and_judged(
    scenario: Scenario, count: int, seed: int, rate: int, advance: Callable[[], None]
) -> Outcome:
    """Run `count` kills drawn from the seed, and return the outcome.

    After an error or with anomalies, the logs are kept.
    """
    with Processes() as processes:
        campaign = Campaign(scenario, processes, rate, advance)
        try:
            campaign.run(scenario.plan(count, seed))
            outcome = campaign.outcome(seed)
        except Failed as error:
            raise Failed(
                f"seed {seed}: {error} Logs: {_keep(processes.place, seed, campaign.killed, [])}"
            ) from error
        if outcome.anomalies:
            outcome.kept = str(_keep(processes.place, seed, campaign.killed, outcome.anomalies))
    return outcome


def _keep(place: Path, seed: int, kills: list[Killed], anomalies: list[Anomaly]) -> Path:
    """Copy logs, records and configuration to a new folder outside `place`, and return the new folder.

    A file `events` in the new folder lists the kills and the anomalies.
    """
    kept = Path(tempfile.mkdtemp(prefix=f"mesh-kills-{seed}-"))
    for path in place.iterdir():
        if path.suffix in (".txt", ".err", ".toml"):
            shutil.copy(path, kept)
    (kept / "events").write_text("".join(f"{line}\n" for line in _events(kills, anomalies)))
    return kept


def _events(kills: list[Killed], anomalies: list[Anomaly]) -> Iterator[str]:
    for k in kills:
        yield f"{k.at:.6f} {k.node} killed, started again at {k.started:.6f}"
    for a in anomalies:
        yield f"{a.at:.6f} {a.what}: number {a.number} of {a.publisher.name} at {a.subscriber.name}"
