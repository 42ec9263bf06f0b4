"""A fake view of other nodes for tests of routing, and a walk from node to node."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from mesh.mapping.decision import Decision, Kind
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule

Decide = Callable[[Mapping, "FakeView", list[str]], Decision]


@dataclass
class FakeView:
    """The `known` nodes, the `alive` ones among them, and `ways` to others. Its choice is the first node."""

    known: set[str] = field(default_factory=set)
    alive: set[str] = field(default_factory=set)
    ways: dict[str, str] = field(default_factory=dict)
    settled: bool = True
    choices: list[tuple[tuple[str, ...], Hashable]] = field(default_factory=list)  # (candidates, `of`)

    def is_known(self, node: str) -> bool:
        return node in self.known

    def is_alive(self, node: str) -> bool:
        return node in self.alive

    def is_settled(self) -> bool:
        return self.settled

    def count_alive(self) -> int:
        return len(self.alive) + 1

    def way_to(self, node: str) -> str | None:
        return self.ways.get(node)

    def choose(self, nodes: Sequence[str], of: Hashable, domain: str) -> str:
        self.choices.append((tuple(nodes), of))
        return nodes[0]


def up(*nodes: str) -> FakeView:
    """Return a view in which these nodes are known and alive."""
    return FakeView(set(nodes), set(nodes))


def down(*nodes: str) -> FakeView:
    """Return a view in which these nodes are known and unreachable."""
    return FakeView(set(nodes))


def walk(
    start: str,
    rules: Callable[[str], Iterable[Rule]],
    view: Callable[[str], FakeView],
    decide: Decide,
    scope: str = "mesh",
) -> tuple[list[str], Decision]:
    """Follow the decisions from `start`. Return the nodes that had the message, and the last decision."""
    path: list[str] = []
    node = start
    while True:
        decision = decide(Mapping(node, tuple(rules(node)), scope), view(node), path)
        path.append(node)
        if decision.kind is not Kind.FORWARD:
            return path, decision
        assert decision.node not in path, f"{decision.node} has had it: {path}"
        node = decision.node
