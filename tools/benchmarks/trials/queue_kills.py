"""The promises of a queue while producers, nodes and consumers die: kill -9, and checks."""

import asyncio
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

import mesh
from tools.benchmarks.pages.report import Report, Row
from tools.benchmarks.trials.history import Killed
from tools.benchmarks.trials.plan import Kill
from tools.benchmarks.trials.queue_verdict import WRONG, Anomaly, judged
from tools.running.nodes import ANYWHERE, READY, Node
from tools.running.processes import Failed, Processes, Program
from tools.running.queue_records import Event, read_answers, read_events

PART = "kills-queues"
KINDS = ("producer", "node", "consumer")
EACH = 2  # producers, and consumers
QUEUE, NODE = "kills", "heron"
ATTEMPTS = 255  # hardly any dead letters
BETWEEN, DOWN = (0.1, 2.0), (0.0, 1.0)  # s between kills; s of downtime
SETTLING, QUIET = 1.0, 0.5  # s
DRAINED, LAST_ANSWERS = 120.0, 90.0  # s


def plan(count: int, seed: int) -> list[Kill]:
    """Draw `count` kills of each kind in random order from the seed."""
    chance = random.Random(seed)
    kinds = [kind for kind in KINDS for _ in range(count)]
    chance.shuffle(kinds)
    names = [NODE if kind == "node" else f"{kind}-{chance.randrange(EACH)}" for kind in kinds]
    return [Kill(chance.uniform(*BETWEEN), name, chance.uniform(*DOWN)) for name in names]


@dataclass(slots=True)
class Outcome:
    """The outcome of a campaign: its kills, the records of its programs, and the anomalies in them."""

    seed: int
    kills: list[Killed]
    answers: dict[tuple[str, int], str]
    events: list[Event]
    seconds: float
    anomalies: list[Anomaly] = field(default_factory=list)
    kept: str = ""  # folder of the logs after an error

    def count(self, what: str) -> int:
        return sum(event.what == what for event in self.events)


class Campaign:
    """A node with a queue, and its producers and consumers; any of them can be killed."""

    def __init__(self, processes: Processes, rate: int, seed: int, advance: Callable[[], None]) -> None:
        self._processes, self._rate, self._seed, self._advance = processes, rate, seed, advance
        self._node = Node(processes, NODE, *ANYWHERE, log_level="debug")
        self._programs: dict[str, Program] = {}
        self._lives: Counter[str] = Counter()
        self._due: dict[str, float] = {}  # dead programs -> when they start again
        self._died: dict[str, float] = {}
        self.killed: list[Killed] = []

    def run(self, kills: Sequence[Kill]) -> float:
        """Run all kills, until the last job is settled, and return the duration (s)."""
        self._node.start()
        asyncio.run(self._declare())
        began = time.monotonic()
        for kind in ("producer", "consumer"):
            for number in range(EACH):
                self._launch(f"{kind}-{number}")
        self._pause(SETTLING)
        for kill in kills:
            self._pause(kill.after)
            self._kill(kill)
            self._advance()
        self._wait(lambda: not self._due and self._node.is_ready(), READY, "no restart")
        self._pause(SETTLING)
        self._end("producer", LAST_ANSWERS)
        self._wait(lambda: asyncio.run(self._is_drained()), DRAINED, "jobs were left in the queue")
        self._processes.pause(QUIET)
        self._end("consumer", LAST_ANSWERS)
        return time.monotonic() - began

    def _launch(self, name: str) -> None:
        self._lives[name] += 1
        life = f"{name}-{self._lives[name]}"
        module = f"tools.running.queue_{name.partition('-')[0]}"
        path = f"{name}.txt"
        is_producer = name.startswith("producer")
        own = (life, str(self._rate), path) if is_producer else (path, str(self._seed + self._lives[name]))
        self._programs[name] = self._processes.start(name, module, NODE, QUEUE, *own)

    def _kill(self, kill: Kill) -> None:
        """Kill a program or the node once it is running, and plan its restart."""
        name = kill.node
        self._wait(lambda: name not in self._due and self._is_up(name), READY, f"{name} was not ready")
        self._died[name] = time.monotonic()
        if name == NODE:
            self._node.kill()
        else:
            self._processes.end([self._programs[name]], SIGKILL)
        self._due[name] = self._died[name] + kill.down

    def _is_up(self, name: str) -> bool:
        return self._node.is_ready() if name == NODE else not self._programs[name].ended()

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        self._wait(lambda: time.monotonic() >= end, seconds + READY, "time stood still")

    def _wait(self, condition: Callable[[], object], limit: float, failure: str) -> None:
        self._processes.until(condition, limit, failure, meanwhile=self._look_after)

    def _look_after(self) -> None:
        """Restart killed programs when it is time. Raises Failed if another program has failed."""
        now = time.monotonic()
        for name, due in list(self._due.items()):
            if now >= due:
                del self._due[name]
                self._node.launch() if name == NODE else self._launch(name)
                self.killed.append(Killed(name, self._died[name], time.monotonic()))
        if NODE not in self._due:
            self._node.is_ready()
        for name, program in self._programs.items():
            if name not in self._due and program.code:
                raise Failed(f"{name} ended by itself: {program.words()}")

    def _end(self, kind: str, limit: float) -> None:
        programs = [program for name, program in self._programs.items() if name.startswith(kind)]
        for program in programs:
            program.signal(SIGTERM)
        self._wait(lambda: all(p.ended() for p in programs), limit, f"a {kind} did not end")

    def _client(self) -> mesh.Client:
        return mesh.connect(NODE, environ={"MESH_STATE_DIR": str(self._processes.place)}, timeout=READY)

    async def _declare(self) -> None:
        async with self._client() as m:
            await m.queue(QUEUE).declare(max_attempts=ATTEMPTS)

    async def _is_drained(self) -> bool:
        async with self._client() as m:
            row = await m.queue(QUEUE).info()
        return not row.bytes  # messages in doubt are neither ready nor out

    def outcome(self, seconds: float) -> Outcome:
        answers = {k: v for text in self._texts("producer") for k, v in read_answers(text).items()}
        events = [event for text in self._texts("consumer") for event in read_events(text)]
        outcome = Outcome(self._seed, self.killed, answers, events, seconds)
        outcome.anomalies = judged(answers, events, time.monotonic())
        return outcome

    def _texts(self, kind: str) -> list[list[str]]:
        paths = [self._processes.place / f"{kind}-{number}.txt" for number in range(EACH)]
        return [path.read_text().splitlines(keepends=True) for path in paths if path.exists()]


def measured(count: int, seed: int, rate: int, advance: Callable[[], None]) -> Report:
    """Run a campaign of `count` kills of each kind, at `rate` jobs per second from each producer."""
    return told(killed_and_judged(count, seed, rate, advance))


def killed_and_judged(count: int, seed: int, rate: int, advance: Callable[[], None]) -> Outcome:
    with Processes() as processes:
        campaign = Campaign(processes, rate, seed, advance)
        try:
            outcome = campaign.outcome(campaign.run(plan(count, seed)))
        except Failed as error:
            kept = _keep(processes.place, seed, campaign.killed, [])
            raise Failed(f"seed {seed}: {error} Logs: {kept}") from error
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
    lines = [f"{k.at:.6f} {k.node} killed, started again at {k.started:.6f}\n" for k in kills]
    lines += [f"{a.at:.6f} {a.what}: {a.job[0]} {a.job[1]}\n" for a in anomalies]
    (kept / "events").write_text("".join(lines))
    return kept


def told(outcome: Outcome) -> Report:
    """Return the report; a row with anomalies has a flaw."""
    rows = []
    for what in WRONG:
        number = sum(anomaly.what == what for anomaly in outcome.anomalies)
        rows.append(Row(f"queue, {what}", number, "", f"{number}. Logs: {outcome.kept}" if number else ""))
    kinds = Counter(kill.node.partition("-")[0].replace(NODE, "node") for kill in outcome.kills)
    states = Counter(outcome.answers.values())
    refused = {state: n for state, n in states.items() if state != "OK"}
    note = ", ".join(f"{kinds[kind]} of {kind}" for kind in KINDS)
    given = sum(event.what == "took" and event.tries > 0 for event in outcome.events)
    rows += [
        Row("queue, put", states["OK"], f"kills: {note}; seed {outcome.seed}"),
        Row("queue, refused", sum(refused.values()), ", ".join(f"{k} {n:,}" for k, n in refused.items())),
        Row("queue, given again", given, f"{outcome.count('nacked'):,} were nacked"),
        Row("queue, late", outcome.count("late"), "settled, and was not the consumer's own any more"),
        Row("queue, while killed", outcome.count("acked") / outcome.seconds),
    ]
    details: dict[str, Any] = {"seed": outcome.seed, "kills": [asdict(kill) for kill in outcome.kills]}
    return Report(PART, rows, details)
