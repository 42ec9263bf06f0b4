"""What is to be reached with queues? Figures, and ratios to those of peers."""

from itertools import product

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.queues.cases import CASES, THEIRS, limit_of, ratio_of, row_of
from tools.benchmarks.queues.workers import WORKERS


def _goals() -> dict[str, Goal]:
    goals = {}
    for case in CASES.values():
        for what, who in product(case.what, WORKERS):
            name = row_of(case, what, who)
            goals[name] = Goal(name, "jobs/s", more=True)
        for what, theirs in product(case.what, THEIRS):
            name = ratio_of(case, what, theirs)
            goals[name] = Goal(name, "of 1", limit_of(case, theirs), more=True)
    return goals


QUEUE_GOALS = _goals()
