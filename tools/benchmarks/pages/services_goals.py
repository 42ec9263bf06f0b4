"""Goals of services: figures and ratios to those of peers, all without a limit."""

from itertools import product

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.services.callers import CALLERS
from tools.benchmarks.services.questions import (
    BALANCERS,
    QUESTIONS,
    REGISTERED,
    THEIRS,
    grows_of,
    p99_of,
    ratio_of,
    row_of,
    skewed_of,
)


def _goals() -> dict[str, Goal]:
    goals = {}
    for (name, case), who in product(QUESTIONS.items(), CALLERS):
        goals[row_of(name, who)] = Goal(f"requests, {case.what}: {who}", case.unit, more=not case.rate)
        if case.rate:
            goals[p99_of(name, who)] = Goal(f"requests, at 200/s, 99 of 100: {who}", "ms")
    for (name, case), theirs in product(QUESTIONS.items(), THEIRS):
        what = f"requests, {case.what}: of {theirs}"
        goals[ratio_of(name, theirs)] = Goal(what, "of 1", more=not case.rate)
    for who in CALLERS:
        goals[grows_of(who)] = Goal(f"requests, 4 servers, of what 1 does: {who}", "of 1", more=True)
    for balancer in BALANCERS:
        who = f"one of 4 servers 10 times slower: {balancer}"
        goals[skewed_of(balancer, "p99")] = Goal(f"requests, {who}, 99 of 100", "ms")
        goals[skewed_of(balancer, "rate")] = Goal(f"requests, {who}", "req/s", more=True)
        goals[skewed_of(balancer, "share")] = Goal(f"requests, {who}, what the slow one gets", "%")
    return goals | {name: Goal(what, unit) for name, (unit, what) in REGISTERED.items()}


SERVICE_GOALS = _goals()
