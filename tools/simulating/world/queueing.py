"""What do the queues of a node do? Who takes, what is given to whom, and is each message in one state?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mesh.core.delivery.bindings import Answered
from mesh.core.desk.conn import Conn
from mesh.core.parts import Parts
from mesh.core.queues.keeping.here import QueueHere
from mesh.core.queues.transfers.arriving import Came
from mesh.core.queues.transfers.leaving import Way
from mesh.core.queues.transfers.sources import Source
from mesh.core.subscribers.session import Session, subscription_of
from mesh.errors import MeshError
from mesh.names import PUTS
from mesh.queues.part.partial import PartialQueue
from mesh.queues.takers.taker import Taker
from mesh.routing.portion import Portion
from mesh.wire.commands import Consume
from mesh.wire.envelope import Envelope
from tools.simulating.world.known import Id, Known, Name, Tell


class QueueWatch:
    """Of one process of a node."""

    def __init__(self, parts: Parts, tell: Tell) -> None:
        self._tell = tell
        self._room = parts.queues
        self._takers: set[str] = set()  # the names of sessions that ever took
        self._parts: dict[PartialQueue, Known] = {}
        queues, taking = self._room.queues, self._room.taking
        bindings = parts.router.bindings
        self._again = bindings.again
        vars(bindings)["again"] = self._keeps_again
        self._push, self._begin, self._make = queues._push, taking.begin, queues._make
        vars(queues)["_push"], vars(taking)["begin"] = self._gives, self._takes
        vars(queues)["_make"] = self._made
        self._later, self._redistribute = False, self._room.balancing._redistribute
        vars(self._room.balancing)["_redistribute"] = self._redistributes
        self._begun, self._not_stored = self._room.moving._begun, self._room.arriving._not_stored
        vars(self._room.moving)["_begun"] = self._has_begun
        vars(self._room.arriving)["_not_stored"] = self._has_no_room

    # --- who takes, and is given ---------------------------------------------------------------------------

    def _gives(self, taker: Taker, portion: Portion) -> None:
        e = portion.parcel.envelope
        indices = range(e.count) if portion.indices is None else portion.indices
        for i, number in enumerate(e.number_list(indices)):
            strayed = "m" * self._has_strayed(e.to, (e.stream.hex(), number))
            self._tell(
                "gives", stream=e.stream.hex(), domain=e.to, first=number, to=taker.name,
                sub=subscription_of(taker), stamp=taker.epoch, gap=portion.tries[i] if portion.tries else 0,
                flags="p" * e.persistent + strayed, keys=(" ".join(map(str, e.put)),),
            )  # fmt: skip
        self._push(taker, portion)

    def _takes(self, conn: Conn, session: Session, command: Consume) -> None:
        self._begin(conn, session, command)
        self._takers.add(session.text)
        self._tell(
            "takes", to=session.text, sub=command.subscription, domain=command.address, stamp=command.lease,
            text=command.selector, flags="e" * (not command.credit),
        )  # fmt: skip

    def _keeps_again(self, envelope: Envelope, answered: Answered) -> Answered:
        for number in envelope.number_list(range(envelope.count)):
            self._tell(
                "again", stream=envelope.stream.hex(), domain=envelope.domain, first=number, last=number
            )
        return self._again(envelope, answered)

    def parted(self, kind: str, session: Session) -> None:
        """A session is away, or closed."""
        if session.text in self._takers:
            self._tell(kind, to=session.text)

    # --- what moves ---------------------------------------------------------------------------------------

    def _has_strayed(self, address: str, name: Name) -> bool:
        """Was it on its way to another node, or did it come from one?"""
        queue = self._room.queues.find(address.removeprefix(PUTS))
        return queue is not None and name in self._parts[queue.part].strayed

    def _redistributes(self, *args: Any) -> None:
        self._later = True
        try:
            self._redistribute(*args)
        finally:
            self._later = False

    def _has_begun(self, way: Way, numbers: list[int], error: MeshError | None) -> None:
        if error is not None:
            self._tell("no room", text="where a move begins")
        self._begun(way, numbers, error)

    def _has_no_room(self, queue: QueueHere, source: Source, came: list[Came]) -> None:
        self._tell("no room", text="where a move comes")
        self._not_stored(queue, source, came)

    # --- what there is ------------------------------------------------------------------------------------

    def _made(self, name: str, *args: Any) -> QueueHere:
        queue = self._make(name, *args)
        self._parts[queue.part] = Known(queue, PUTS + name, self._tell, lambda: self._later)
        return queue

    def copies(self) -> Iterator[tuple[Id, bool]]:
        """Each message that is here, and not done; is it only on its way elsewhere?"""
        for queue in self._room.queues:
            yield from self._parts[queue.part].copies()

    @property
    def messages(self) -> int:
        """In all queues."""
        return sum(queue.part.messages for queue in self._room.queues)

    def sample(self) -> None:
        """Tell of each figure that is not what is there."""
        for queue in self._room.queues:
            for text in self._parts[queue.part].wrong():
                self._tell("wrong sum", domain=PUTS + queue.name, text=text)
