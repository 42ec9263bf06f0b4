"""The delay until a death is detected, the rate of false detections, and the cost; in simulated time."""

from collections.abc import Callable
from dataclasses import dataclass

from mesh.discovery.member import Dead
from tools.benchmarks.growth.crowded import MEMBERS, cost, memory
from tools.benchmarks.loads.figures import median, percentile
from tools.benchmarks.measures import crowd
from tools.benchmarks.pages.report import Report, Row
from tools.models.swim_network import SwimNetwork
from tools.models.swim_wires import subject

HOURS = 20  # simulated for each requested kill: 1,000 with fifty
SHARE_OF_TEN = 0.15  # share of hours with ten nodes, else three
LOSS = 0.05
LIMIT = 60.0  # s after which a death is never detected


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario: `size` nodes, of which one is killed.

    `rarer` is the divisor for the number of kills.
    """

    name: str
    size: int
    has_hints: bool = False
    rarer: int = 1

    def times(self, count: int) -> int:
        return max(1, count // self.rarer)


SCENARIOS = (
    Scenario("simulated, 3", 3),
    Scenario("simulated, 10", 10),
    Scenario("simulated, 3, hint", 3, has_hints=True),
    Scenario("simulated, 10, hint", 10, has_hints=True),
    Scenario("simulated, 100", 100, rarer=10),
)


def steps(count: int) -> int:
    return sum(scenario.times(count) for scenario in SCENARIOS) + HOURS * count + 1


def killed(scenario: Scenario, seed: int) -> tuple[float, int]:
    """Return the simulated s from a kill to the last report of a death, and the number of false reports."""
    net = SwimNetwork(seed, has_hints=scenario.has_hints)
    nodes = net.together(scenario.size)
    net.run(5.0 + net.random.random() * 5.0)  # so that it dies in any probe phase
    gone = nodes[net.random.randrange(scenario.size)]
    start = net.now
    net.kill(gone)
    net.until(net.are_complete, LIMIT)
    deaths = [h for h in net.happened if isinstance(h.event, Dead)]
    falsely = sum(subject(h.event) != gone.name for h in deaths)
    return max(h.at for h in deaths) - start, falsely


def an_hour(size: int, seed: int, seconds: float = 3600.0) -> int:
    """Return how often a node is reported dead in `seconds` simulated s with packet loss, but no death."""
    net = SwimNetwork(seed, loss=LOSS)
    net.together(size)
    net.run(seconds)
    return sum(isinstance(h.event, Dead) for h in net.happened)


def rows_of(scenario: Scenario, seen: list[float]) -> list[Row]:
    return [
        Row(f"{scenario.name}, p50", median(seen), f"{len(seen)} kills"),
        Row(f"{scenario.name}, p99", percentile(seen, 0.99), f"worst {max(seen):.3g} s"),
    ]


def measured(count: int, seed: int, advance: Callable[[], None]) -> Report:
    """Measure kills in each scenario, then HOURS * `count` simulated hours without a kill, then the cost.

    A scenario has `count` kills, divided by its `rarer`.
    """
    rows: list[Row] = []
    details: dict[str, object] = {"seed": seed}
    falsely = 0
    for scenario in SCENARIOS:
        seen: list[float] = []
        for i in range(scenario.times(count)):
            took, wrong = killed(scenario, seed + i)
            seen.append(took)
            falsely += wrong
            advance()
        rows += rows_of(scenario, seen)
        details[scenario.name] = seen
    hours = HOURS * count
    for hour in range(hours):
        falsely += an_hour(10 if hour < SHARE_OF_TEN * hours else 3, seed + hour)
        advance()
    flaw = f"{falsely} of the living" if falsely else ""
    rows.append(Row("falsely dead", falsely, f"{hours} simulated hours, {LOSS:.0%} of packets lost", flaw))
    rows.append(Row("membership, cpu", cost(), f"{MEMBERS:,} nodes, membership alone"))
    rows.append(Row("membership, memory", memory(), f"{MEMBERS:,} nodes, membership alone"))
    many = crowd.MEMBERS
    rows.append(Row("gossip, cpu", crowd.cost(many, crowd.INTERVALS), f"{many:,} nodes, signatures checked"))
    rows.append(Row("gossip, memory", crowd.memory(many), f"{many:,} nodes, their states alone"))
    advance()
    return Report("membership", rows, details)
