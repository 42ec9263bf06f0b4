"""How soon is a death seen, is anybody called dead in vain, and at what cost? In simulated time."""

from collections.abc import Callable
from dataclasses import dataclass

from discovery.member import Dead
from tools.benchmarks.growth.crowded import MEMBERS, cost, memory
from tools.benchmarks.loads.figures import median, percentile
from tools.benchmarks.measures import crowd
from tools.benchmarks.pages.report import Report, Row
from tools.models.swim_network import SwimNetwork
from tools.models.swim_wires import subject

HOURS = 20  # simulated for each kill that was asked for: 1,000 with fifty
SHARE_OF_TEN = 0.15  # of these hours, so much in meshes of ten; the rest in meshes of three
LOSS = 0.05
LIMIT = 60.0  # s after which a death that is not seen never will be


@dataclass(frozen=True, slots=True)
class Story:
    """So many nodes, of which one is killed. `rarer`: among many, so many times fewer kills."""

    name: str
    size: int
    has_hints: bool = False
    rarer: int = 1

    def times(self, count: int) -> int:
        return max(1, count // self.rarer)


STORIES = (
    Story("simulated, 3", 3),
    Story("simulated, 10", 10),
    Story("simulated, 3, hint", 3, has_hints=True),
    Story("simulated, 10, hint", 10, has_hints=True),
    Story("simulated, 100", 100, rarer=10),
)


def steps(count: int) -> int:
    return sum(story.times(count) for story in STORIES) + HOURS * count + 1


def killed(story: Story, seed: int) -> tuple[float, int]:
    """Seconds until all others know that one is dead, and how often somebody else was called dead."""
    net = SwimNetwork(seed, has_hints=story.has_hints)
    nodes = net.together(story.size)
    net.run(5.0 + net.random.random() * 5.0)  # so that it dies in any phase of anybody's probes
    gone = nodes[net.random.randrange(story.size)]
    start = net.now
    net.kill(gone)
    net.until(net.are_complete, LIMIT)
    deaths = [h for h in net.happened if isinstance(h.event, Dead)]
    falsely = sum(subject(h.event) != gone.name for h in deaths)
    return max(h.at for h in deaths) - start, falsely


def an_hour(size: int, seed: int, seconds: float = 3600.0) -> int:
    """Return how many times a node is called dead while no node dies and packets are lost."""
    net = SwimNetwork(seed, loss=LOSS)
    net.together(size)
    net.run(seconds)
    return sum(isinstance(h.event, Dead) for h in net.happened)


def rows_of(story: Story, seen: list[float]) -> list[Row]:
    return [
        Row(f"{story.name}, p50", median(seen), f"{len(seen)} kills"),
        Row(f"{story.name}, p99", percentile(seen, 0.99), f"worst {max(seen):.3g} s"),
    ]


def measured(count: int, seed: int, advance: Callable[[], None]) -> Report:
    """So many kills of each story, and twenty hours for each."""
    rows: list[Row] = []
    details: dict[str, object] = {"seed": seed}
    falsely = 0
    for story in STORIES:
        seen: list[float] = []
        for i in range(story.times(count)):
            took, wrong = killed(story, seed + i)
            seen.append(took)
            falsely += wrong
            advance()
        rows += rows_of(story, seen)
        details[story.name] = seen
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
