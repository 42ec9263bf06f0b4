"""The ratios of figures, and their goals."""

from dataclasses import dataclass

from tools.benchmarks.peers.cases import CASES, row_of


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio: the figure of one client, by that of another in the same round."""

    case: str
    who: str
    base: str  # the other client
    limit: float
    more: bool = True  # higher is better
    other: str = ""  # the case of the base; "": the same

    @property
    def cases(self) -> set[str]:
        return {self.case, self.other or self.case}

    @property
    def rows(self) -> tuple[str, str]:
        """The names of both figures."""
        return row_of(self.case, self.who), row_of(self.other or self.case, self.base)

    @property
    def name(self) -> str:
        return f"{self.rows[0]} / {self.rows[1] if self.other else self.base}"

    @property
    def what(self) -> str:
        base = f"{CASES[self.other].what}: {self.base}" if self.other else self.base
        return f"{CASES[self.case].what}: {self.who}, of {base}"


RATIOS = (
    Ratio("1-1", "heronry", "nats-c", 1.5),
    Ratio("1-4", "heronry", "nats-c", 1.7),
    Ratio("1k", "heronry", "nats-c", 1.3),
    Ratio("1-1", "heronry", "zenoh-py", 5.0),
    Ratio("1-1", "heronry", "nats-py", 12.0),
    Ratio("1-1", "heronry", "redis-py", 25.0),
    Ratio("1-1", "heronry, two hops", "nats-c", 0.85),
    Ratio("1-1", "heronry", "zmq-c", 1.0),
    Ratio("1-1", "heronry, many", "nats-c", 2.2),
    Ratio("1000-topics", "heronry", "heronry", 0.5, other="1-1"),
    Ratio("curve", "heronry, curve", "heronry, tcp", 0.6),
    Ratio("durable", "heronry", "jetstream-c", 3.0),
    Ratio("500/s", "heronry", "zmq-py", 1.3, more=False),
    Ratio("500/s", "heronry", "zenoh-py", 1.0, more=False),
    Ratio("150k/s", "heronry", "nats-c", 0.8, more=False),
)
