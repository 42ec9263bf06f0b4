"""Nodes with a queue `jobs` between which messages move, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.parts import QueueParts
from tests.mesh.features.queues.node.carrier import Carrier
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode


class Several:
    """Nodes with a queue `jobs` between which messages move, and a client at each node that puts."""

    moves = True

    def __init__(self, n: int = 3, settings: dict[str, Any] | None = None, **terms: Any) -> None:
        self.net = SimNetwork()
        self.nodes = self.net.mesh(*"abcde"[:n], **(settings or {}))
        self.carriers = [Carrier(node, self.nodes) for node in self.nodes] if not self.moves else []
        self.bosses = [Worker(node, f"boss{node.name}") for node in self.nodes]
        for boss in self.bosses:  # definitions spread with states, not gossiped here
            boss.declare("jobs", **terms)
        self.takers: dict[int, list[Worker]] = {}

    def find(self, node: SimNode, name: str = "jobs") -> QueueSink | None:
        return node.core.parts[QueueParts].queues.find(name)

    def queue(self, i: int) -> QueueSink:
        found = self.find(self.nodes[i])
        assert found is not None
        return found

    def take(self, *places: int, credit: int = 100, **more: Any) -> list[Worker]:
        """Start a consumer at each of these nodes, and let interested nodes learn of it."""
        made = []
        for i in places:
            made.append(Worker(self.nodes[i], f"taker{i}{len(self.takers.setdefault(i, []))}"))
            self.takers[i].append(made[-1])
            made[-1].take("jobs", credit=credit, **more)
        self.net.run(0.2)
        return made

    def put(self, i: int, numbers: Iterable[int], at_once: bool = False, **how: Any) -> None:
        boss, contents = self.bosses[i], [b"%d" % n for n in numbers]
        if at_once:
            boss.put("jobs", *contents, **how)
        else:
            for each in contents:
                boss.put("jobs", each, **how)
        self.net.until(lambda: boss.state_of("jobs", boss.puts["jobs"]) == "OK")

    def know(self, i: int) -> None:
        """Let node `i` ask which nodes have consumers."""
        self.put(i, [0])
        self.net.run(0.3)

    def had(self, i: int) -> list[int]:
        return [int(each) for it in self.takers.get(i, []) for each in it.contents()]

    def ready(self) -> list[int]:
        return [self.queue(i).part.ready for i in range(len(self.nodes))]

    def sent(self, i: int) -> int:
        """Return how many messages node `i` has sent to others, whatever the outcome."""
        if not self.moves:
            return self.carriers[i].sent.total()
        figures = self.nodes[i].core.parts[QueueParts].moving.figures()
        return int(sum(figures.values()))


class Carried(Several):
    """Nodes with carriers in place of the transfers. A test sets their room and their refusals."""

    moves = False


TEN = list(range(1, 11))
