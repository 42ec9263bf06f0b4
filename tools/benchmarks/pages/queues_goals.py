"""Goals of queues: speed, ratios to peers, several nodes, depth, and losses while processes die."""

from itertools import product

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.queues.cases import APART, CASES, THEIRS, limit_of, ratio_of, row_of
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
QUEUE_GOALS |= {
    f"parts, {what}, {window}": Goal(f"{text}, 100 B, {window} in flight", unit, goal, more=True)
    for window in APART
    for what, text, unit, goal in (
        ("alone", "put, taken and acked by two at one node", "jobs/s", None),
        ("apart", "likewise, put at one node, taken at two others", "jobs/s", None),
        ("apart by alone", "of the one node's rate", "of 1", 0.5),
    )
}
QUEUE_GOALS |= {
    "depth, few, ready": Goal("mesh up with few jobs in its queue, until it is ready", "s"),
    "depth, few, peak": Goal("likewise, memory at most, with puts and takes", "MB"),
    "depth, few, put": Goal("likewise, put, 100 B, lone, 256 in flight", "jobs/s"),
    "depth, few, take": Goal("likewise, taken and acked, lone, 256 in flight", "jobs/s"),
    "depth, many, ready": Goal("mesh up with many jobs in its queue, until it is ready", "s"),
    "depth, many, peak": Goal("likewise, memory at most, with puts and takes", "MB", 537.0),
    "depth, many, put": Goal("likewise, put, 100 B, lone, 256 in flight", "jobs/s"),
    "depth, many, take": Goal("likewise, taken and acked, lone, 256 in flight", "jobs/s"),
    "depth, start": Goal("start for each million envelopes in its queue", "s", 10.0),
    "depth, put": Goal("put with many in the queue, of that with few", "of 1", 0.9, more=True),
    "depth, take": Goal("taken and acked with many in the queue, of that with few", "of 1", 0.9, more=True),
    "parts, skewed, local": Goal("three consumers, one ten times as slow, all put there", "of ideal", 1.2),
    "parts, skewed, round_robin": Goal("likewise, dealt out in turn", "of ideal", 1.2),
    "parts, without queues": Goal("the busiest of five nodes without queues", "% CPU"),
    "parts, idle queues": Goal("the busiest of five nodes with idle queues", "% CPU"),
    "queue, lost": Goal("put was answered, and nobody has taken and acked it", "jobs", 0.0),
    "queue, doubled": Goal("taken twice, and did not say so", "jobs", 0.0),
    "queue, again": Goal("taken again after its ack was confirmed", "jobs", 0.0),
    "queue, unwanted": Goal("refused, and taken", "jobs", 0.0),
    "queue, put": Goal("puts that were answered with OK", "jobs"),
    "queue, refused": Goal("puts that were refused", "jobs"),
    "queue, given again": Goal("taken twice or more, and said so", "times"),
    "queue, late": Goal("acks and nacks that came too late", "times"),
    "queue, while killed": Goal("taken and acked while things die", "jobs/s"),
}
