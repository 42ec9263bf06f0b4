"""What do the queues of a node do? Who takes, what is given to whom, and is each message in one state?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mesh.core.delivery.facts import BoundAgain
from mesh.core.desk.facts import Hearing, hear
from mesh.core.parts import Parts
from mesh.core.queues.keeping.facts import Consumes
from mesh.core.queues.keeping.here import QueueHere
from mesh.core.subscribers.facts import SessionAway, SessionClosed
from mesh.core.subscribers.session import Session
from mesh.names import PUTS
from mesh.queues.part.partial import PartialQueue
from mesh.wire.envelope import Envelope
from tools.simulating.world.known import Id, Known, Tell


class QueueWatch:
    """Of one process of a node: it looks on at each part, and hears who takes."""

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._tell = tell
        self._queues = parts.queues.queues
        self._takers: set[str] = set()  # the names of sessions that ever took
        self._parts: dict[PartialQueue, Known] = {}
        self._queues.watch = self._knows

    def hears(self) -> Sequence[Hearing]:
        """The facts of queues."""
        return (
            hear(Consumes, self._takes),
            hear(BoundAgain, lambda fact: self._bound(fact.envelope)),
            hear(SessionAway, lambda fact: self._parted("away", fact.session)),
            hear(SessionClosed, lambda fact: self._parted("closed", fact.session)),
        )

    def _knows(self, queue: QueueHere) -> Known:
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
        """A session is away, or closed."""
        if session.text in self._takers:
            self._tell(kind, to=session.text)

    # --- what there is ------------------------------------------------------------------------------------

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Each message that is here, and not done; is it only on its way elsewhere?"""
        for queue in self._queues:
            yield from self._parts[queue.part].copies()

    @property
    def messages(self) -> int:
        """In all queues."""
        return sum(queue.part.messages for queue in self._queues)

    def sample(self) -> None:
        """Tell of each figure that is not what is there."""
        for queue in self._queues:
            for text in self._parts[queue.part].wrong():
                self._tell("wrong sum", domain=PUTS + queue.name, text=text)
