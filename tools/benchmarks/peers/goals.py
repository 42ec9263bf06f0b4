"""What is to be reached against the peers? Their own figures are only shown, the ratios are goals."""

from tools.benchmarks.goal import Goal
from tools.benchmarks.peers.cases import CASES, RATIOS, ratio_of, row_of

PEER_GOALS = {
    row_of(name, who): Goal(f"{case.what}: {who}", case.unit, None, more=not case.rate)
    for name, case in CASES.items()
    for who in case.who
} | {
    ratio_of(name, who, base): Goal(f"{CASES[name].what}: {who}, of {base}", "of 1", limit, more=more)
    for name, who, base, limit, more in RATIOS
}
