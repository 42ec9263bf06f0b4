"""Goals of transactions and of shared data: limits for our own figures, and ratios to peers without one."""

from tools.benchmarks.operations.cases import CASES, limit_of, ratio_of, row_of
from tools.benchmarks.operations.derived import DURATIONS, OUTBOXES, outbox_of
from tools.benchmarks.pages.goal import Goal


def _goals() -> dict[str, Goal]:
    goals = {each.name: Goal(f"{each.part}, {each.what}", "of 1", each.limit) for each in DURATIONS}
    for database, least in OUTBOXES.items():
        goals[outbox_of(database)] = Goal(f"a sender of an outbox: {database}", "rows/s", least, more=True)
    for case in (case for cases in CASES.values() for case in cases.values()):
        for who in case.who:
            goals[row_of(case, who)] = Goal(f"{case.text}: {who}", "1/s", more=True)
        for theirs in case.theirs:
            goals[ratio_of(case, theirs)] = Goal(
                f"{case.text}: of {theirs}", "of 1", limit_of(case, theirs), more=True
            )
    return goals


OPERATION_GOALS = _goals()
