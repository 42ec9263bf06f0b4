"""Candidates and sample messages for tests of balancers."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mesh.balancers.base import Balancer, Candidate


def chance(seed: int = 0) -> Callable[[], float]:
    return random.Random(seed).random


def fresh(node: str, load: float = 0.1, latency: float = 0.001) -> Candidate:
    """Return a candidate whose state is 1 s old."""
    return Candidate(node, load=load, age=1.0, latency=latency)


def named(names: str) -> list[Candidate]:
    """Return one equal candidate for each word."""
    return [fresh(name) for name in names.split()]


def picks(balancer: Balancer, candidates: Sequence[Candidate], n: int) -> Counter[str]:
    """Return how many of `n` messages each node gets, if each choice counts as sent at once."""
    among = {candidate.node: candidate for candidate in candidates}
    found: Counter[str] = Counter()
    for _ in range(n):
        node = balancer.pick(list(among.values()))
        among[node] = replace(among[node], sent=among[node].sent + 1)
        found[node] += 1
    return found


@dataclass
class Headers:
    values: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        return self.values.get(name)


@dataclass
class Sample:
    """A message, as a balancing strategy sees it."""

    key: str = "a"
    domain: str = ""
    content: bytes = b""
    headers: Headers = field(default_factory=Headers)
    priority: int = 5
    sender: str = "/node/heron/client/joe/session/1"
