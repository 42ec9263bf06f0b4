"""Goals of comparisons with peers: limits for ratios and for our CPU time, and figures without a limit."""

from tools.benchmarks.pages.goal import Goal
from tools.benchmarks.peers.cases import CASES, row_of
from tools.benchmarks.peers.ratios import RATIOS

CPU = "1-1: CPU"
PEER_GOALS = (
    {
        row_of(name, who): Goal(f"{case.what}: {who}", case.unit, None, more=not case.rate)
        for name, case in CASES.items()
        for who in case.who
    }
    | {CPU: Goal("1→1, 100 B: CPU of the node for a message", "µs", 0.6)}
    | {ratio.name: Goal(ratio.what, "of 1", ratio.limit, more=ratio.more) for ratio in RATIOS}
)
