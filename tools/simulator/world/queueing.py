"""Observes the queues of a node: consumers, deliveries, and the state of each message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.node.keeping.facts import Consumes
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.parts import QueueParts
from mesh.features.transactions.node.parts import TransactionParts
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.delivery.facts import BoundAgain
from mesh.kernel.parts import Parts
from mesh.kernel.subscribers.facts import SessionAway, SessionClosed
from mesh.kernel.subscribers.session import Session
from mesh.names import PUTS
from mesh.wire.envelope import Envelope
from tools.simulator.world.known import Id, Known, Tell


class QueueWatch:
    """The observer of one process's queues, with a `Known` for each."""

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._tell = tell
        self._queues, self._commits = parts[QueueParts].queues, parts[TransactionParts].commits
        self._takers: set[str] = set()  # sessions that ever consumed
        self._parts: dict[LocalQueue, Known] = {}
        self._queues.watch = self._knows

    def hears(self) -> Sequence[Hearing]:
        return (
            on_fact(Consumes, self._takes),
            on_fact(BoundAgain, lambda fact: self._bound(fact.envelope)),
            on_fact(SessionAway, lambda fact: self._parted("away", fact.session)),
            on_fact(SessionClosed, lambda fact: self._parted("closed", fact.session)),
        )

    def _knows(self, queue: QueueSink) -> Known:
        known = self._parts[queue.part] = Known(queue, PUTS + queue.name, self._tell)
        return known

    def _takes(self, fact: Consumes) -> None:
        name, command = fact.session.text, fact.command
        self._takers.add(name)
        self._tell(
            "takes",
            to=name,
            sub=command.subscription,
            domain=command.address,
            stamp=command.lease,
            text=command.selector,
            flags="e" * (not command.credit),
        )

    def _bound(self, envelope: Envelope) -> None:
        for number in envelope.number_list(range(envelope.count)):
            self._tell(
                "again", stream=envelope.stream.hex(), domain=envelope.domain, first=number, last=number
            )

    def _parted(self, kind: str, session: Session) -> None:
        if session.text in self._takers:
            self._tell(kind, to=session.text)

    # --- figures --------------------------------------------------------------------------------------

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Yield each unsettled message at this node, and whether it is in transit to another node."""
        for queue in self._queues:
            yield from self._parts[queue.part].copies()

    @property
    def messages(self) -> int:
        return sum(queue.part.backlog.messages for queue in self._queues)

    def sample(self) -> None:
        """Record each figure that does not match the messages."""
        is_committing = bool(self._commits._open)
        for queue in self._queues:
            for text in self._parts[queue.part].wrong(is_committing):
                self._tell("wrong sum", domain=PUTS + queue.name, text=text)
