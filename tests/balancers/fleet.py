"""Several senders that balance over the same nodes, with the share of each node."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from mesh.balancers.base import Balancer, Candidate, Jitter
from mesh.balancers.sent import SentCounts
from tests.balancers.candidates import chance


@dataclass
class Fleet:
    """Senders that send `rate` messages a second each. Each node's state reaches all senders every 2 s."""

    make: Callable[[Jitter], Balancer]
    loads: dict[str, float | None]
    senders: int = 1
    rate: int = 200
    phases: dict[str, float] = field(default_factory=dict)  # s until a node's first state
    now: float = 0.0
    silent: set[str] = field(default_factory=set)  # nodes whose states no longer arrive

    def __post_init__(self) -> None:
        self._balancers = [self.make(chance(seed)) for seed in range(self.senders)]
        self._sent = [SentCounts() for _ in self._balancers]
        self._said: dict[str, tuple[float | None, float]] = {}
        for node, load in self.loads.items():
            self._said[node] = (load, self.phases.get(node, 0.0) - 2.0)

    def run(self, seconds: float) -> list[Counter[str]]:
        """Return how many messages each node got in each tenth of a second."""
        found = []
        for _ in range(round(seconds * 10)):
            found.append(Counter[str]())
            for _ in range(self.rate // 10):
                self.now += 1 / self.rate
                self._states_come()
                found[-1].update(self._send(sender) for sender in range(self.senders))
        return found

    def join(self, node: str, load: float) -> None:
        """Add a node, whose first state arrives at once."""
        self.loads[node] = load
        self._said[node] = (load, self.now)

    def _states_come(self) -> None:
        for node, (_, then) in self._said.items():
            if node not in self.silent and self.now >= then + 2.0:
                self._said[node] = (self.loads[node], then + 2.0)

    def _send(self, sender: int) -> str:
        sent = self._sent[sender]
        among = [
            Candidate(node, load=load, age=self.now - then, sent=sent.sent_to(node, self.now))
            for node, (load, then) in self._said.items()
        ]
        node = self._balancers[sender].pick(among)
        sent.add(node, self.now)
        return node


def shares(tenths: list[Counter[str]]) -> dict[str, float]:
    """Return each node's share of all messages."""
    whole = sum(tenths, Counter[str]())
    return {node: count / whole.total() for node, count in whole.items()}
