"""The cases of queues, and the ratios between their figures."""

import argparse
from dataclasses import dataclass
from itertools import product

from tools.benchmarks.queues.jobs import Jobs
from tools.benchmarks.queues.workers import WORKERS

SIZES, WINDOWS = (100, 1024), (1, 16, 256, 1000)
FEW = {1: 0.02, 16: 0.2}  # share of the jobs for slow windows
OURS = ("heronry", "heronry, many", "heronry, each")
THEIRS = tuple(name for name, who in WORKERS.items() if not who.is_ours)
TWICE = tuple(name for name in THEIRS if name.startswith("jetstream"))  # ours should be twice as fast
APART = (256, 1000)  # windows for queues with parts at several nodes
LARGE = 256  # least window with a goal


@dataclass(frozen=True, slots=True)
class Case:
    """A case of jobs in a queue.

    `at_a_time` producers and as many consumers work together; 0 means that all jobs are put before any is
    consumed.
    """

    size: int
    window: int
    at_a_time: int

    @property
    def name(self) -> str:
        flow = f"{self.at_a_time}→{self.at_a_time}" if self.at_a_time else "apart"
        return f"{flow}, {size_of(self.size)}, {self.window}"

    @property
    def what(self) -> tuple[str, ...]:
        return (f"{self.at_a_time}→{self.at_a_time}",) if self.at_a_time else ("put", "take")

    def jobs(self, name: str, messages: int, slow: int = 1) -> Jobs:
        """Return the jobs of a run: `messages`, divided by `slow`, and fewer for small windows.

        There are at least four windows of jobs.
        """
        count = max(4 * self.window, int(messages * FEW.get(self.window, 1.0)) // slow)
        each = self.at_a_time or 1
        return Jobs(name, count, self.size, self.window, each, each)


def size_of(size: int) -> str:
    return "1 KiB" if size == 1024 else f"{size} B"


CASES = {case.name: case for case in (Case(s, w, n) for s, w, n in product(SIZES, WINDOWS, (0, 1, 4)))}


def row_of(case: Case, what: str, who: str) -> str:
    return f"queues, {what}, {size_of(case.size)}, {case.window}: {who}"


def ratio_of(case: Case, what: str, theirs: str) -> str:
    return f"queues, {what}, {size_of(case.size)}, {case.window}: heronry / {theirs}"


def limit_of(case: Case, theirs: str) -> float | None:
    """Return the goal of the ratio to a peer, or None if it has no goal."""
    if theirs in TWICE:
        return 2.0 if case.window >= LARGE else None
    return 1.0 if theirs.startswith("rabbit") else None


def chosen_cases(text: str) -> list[str]:
    """Return the cases whose names have all comma-separated words; without a word, all cases.

    Raises ArgumentTypeError if there is none.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    found = [name for name in CASES if set(words) <= set(name.split(", "))]
    if not found:
        raise argparse.ArgumentTypeError(f"no case of queues is {text!r}; there are {'; '.join(CASES)}")
    return found
