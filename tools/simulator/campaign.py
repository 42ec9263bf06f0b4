"""Runs many scenarios on several processors, and sums their results."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from tools.simulator.checks.facts import spans
from tools.simulator.history import History
from tools.simulator.profiles import CIRCLES, PROFILES, SHORT
from tools.simulator.scenario import told
from tools.simulator.writing import written

TWICE = 50  # every n-th seed runs twice, with equal histories
ALL = {**PROFILES, SHORT.name: SHORT, CIRCLES.name: CIRCLES}
WORK = {
    "pub": "publishing",
    "deliver": "delivering",
    "tail": "waiting for a master",
    "sub": "subscribing",
    "view": "membership",
    "log": "storing",
}


@dataclass(frozen=True)
class Found:
    """The result of one seed, small enough to be sent to another process."""

    seed: int
    profile: str
    simulated: float = 0.0
    violations: tuple[tuple[str, str], ...] = ()  # invariant, and the text with its events
    faults: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    events: int = 0


def again(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the profile and the seed of each line of a file; the rest of a line is a remark."""
    for line in file.read_text().splitlines():
        if line[:1] != "#":
            profile, seed = line.split()[:2]
            yield profile, int(seed)


def tried(seed: int, profile: str, twice: bool = False) -> Found:
    """Run one seed, and check its history.

    With `twice` the seed runs a second time, and a different history is a violation.
    """
    outcome = told(written(seed, ALL[profile]))
    history, violations = outcome.history, [(v.invariant, str(v)) for v in outcome.violations]
    if twice and told(written(seed, ALL[profile])).history.digest() != history.digest():
        violations.append(("same", "the same: told twice, it went another way"))
    faults = Counter(event.text for event in history.of("fault"))
    return Found(
        seed,
        profile,
        outcome.seconds,
        tuple(violations),
        faults,
        cells(history),
        history.counts,
        len(history.events),
    )


def cells(history: History) -> Counter[tuple[str, str]]:
    """Count the pairs of a fault and the work that went on during the fault or within 1 s of its end."""
    found: Counter[tuple[str, str]] = Counter()
    times: dict[str, list[float]] = {what: [e.at for e in history.of(kind)] for kind, what in WORK.items()}
    for begin, end, fault in spans(history):
        for what, when in times.items():
            if _any_between(when, begin, end + 1.0):
                found[fault.text, what] += 1
    return found


def _any_between(times: list[float], begin: float, end: float) -> bool:
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end


@dataclass
class Total:
    """The sums over all seeds so far."""

    scenarios: int = 0
    simulated: float = 0.0
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    events: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    cells: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Found] = field(default_factory=list)
    profiles: Counter[str] = field(default_factory=Counter)

    def add(self, found: Found) -> None:
        self.scenarios += 1
        self.simulated += found.simulated
        self.seconds = time.monotonic() - self.began
        self.events += found.events
        self.faults += found.faults
        self.cells += found.cells
        self.counts += found.counts
        self.profiles[found.profile] += 1
        if found.violations:
            self.failed.append(found)


def _ends_with_its_parent() -> None:
    """End this worker with its parent.

    The worker of a killed campaign would wait for work forever.
    """
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def run(
    seeds: Iterator[tuple[int, str]], jobs: int, is_over: Callable[[], bool], heard: Callable[[Found], None]
) -> Total:
    """Run the seeds until they are used up or `is_over`, and call `heard` with each result.

    Scenarios that have begun are finished. Every TWICE-th seed runs twice.
    """
    total = Total()
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_ends_with_its_parent) as pool:
        under_way: set[Future[Found]] = set()
        numbered = zip(seeds, count(), strict=False)
        while True:
            while len(under_way) < 2 * jobs and not is_over() and (one := next(numbered, None)):
                (seed, profile), n = one
                under_way.add(pool.submit(tried, seed, profile, n % TWICE == 0))
            if not under_way:
                return total
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                total.add(future.result())
                heard(future.result())
