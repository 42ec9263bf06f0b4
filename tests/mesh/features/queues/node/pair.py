"""Two nodes between which messages of a queue move, for tests."""

from __future__ import annotations

from typing import Any

from mesh.features.queues.node.moves.manual_moves import next_ones
from mesh.features.queues.node.parts import QueueParts
from tests.mesh.features.queues.node.worker import Worker
from tests.simulation import SimNetwork, SimNode

MEMORY = "memory"


class Pair:
    """Two nodes with a queue `jobs`, and a worker at each."""

    def __init__(
        self, seed: int = 0, at_b: dict[str, Any] | None = None, is_at_b: bool = True, **terms: Any
    ) -> None:
        self.net = SimNetwork(seed)
        self.a = self.net.node("a")
        self.b = self.net.node("b", "a", **(at_b or {}))
        self.net.until(lambda: self.a.alive and self.b.alive)
        self.at_a, self.at_b = Worker(self.a, "boss"), Worker(self.b, "joe")
        self.at_a.declare("jobs", **terms)
        if is_at_b:
            self.at_b.declare("jobs", **terms)
        else:
            self.at_b.ok(self.at_b.ask("queue_remove", name="jobs"))

    def put(self, n: int, at: Worker | None = None, **how: Any) -> None:
        """Put `n` envelopes of one message each, and wait until they are accepted."""
        at = at or self.at_a
        for i in range(n):
            number = at.put("jobs", str(i).encode(), **how)
        self.net.until(lambda: at.state_of("jobs", number) == "OK")

    def move(self, to: str = "b", **how: Any) -> dict[str, Any]:
        return self.at_a.ok(self.at_a.ask("queue_move", name="jobs", to=to, **how))

    def logged_in(self) -> None:
        """Move and consume one message, so that the nodes are logged in to each other."""
        self.put(1)
        self.move()
        self.take_all(self.at_b)

    def begin(self, n: int = 1_000) -> int:
        """Start a move at the node itself, without a client. Return how many messages move."""
        queue = self.a.core.parts[QueueParts].queues.get("jobs")
        moving = self.a.core.parts[QueueParts].moving
        moved = moving.begin_transfers(queue, self.b.uuid, next_ones(queue.part, n))
        self.a._carry_out_all()
        return moved

    def figures(self, node: SimNode) -> tuple[int, int]:
        """Return (ready, in transit) at a node."""
        part = node.core.parts[QueueParts].queues.get("jobs").part
        return part.ready, part.moving.messages

    def rested(self, at_a: int, at_b: int) -> bool:
        """Return whether nothing is in transit, and these numbers of messages are ready."""
        return (self.figures(self.a), self.figures(self.b)) == ((at_a, 0), (at_b, 0))

    def take_all(self, worker: Worker) -> list[tuple[bytes, int]]:
        """Consume and ack all messages of the queue there. Return each content and its earlier deliveries."""
        part = worker.node.core.parts[QueueParts].queues.get("jobs").part
        if not part.backlog.messages:
            return []
        self.net.until(lambda: not part.consumers.is_recovering)
        n = part.ready
        worker.take("jobs", credit=1000)
        self.net.until(lambda: len(worker.got[1]) >= n)
        assert worker.settle(1, n) == []
        worker.leave("jobs")
        return list(zip(worker.contents(), worker.tries[1], strict=True))


def contents(n: int) -> list[bytes]:
    return [str(i).encode() for i in range(n)]


def moved_rows(node: SimNode) -> int:
    return len(node.disk.store.load().tables["moved"])
