"""The last 1,024 events of this mesh, as this node saw them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import EventOccurred, Hearing, on_fact
from mesh.kernel.context.pages import fitting
from mesh.wire.replies import EventRow

KEPT = 1024
AT_ONCE = 256  # events in one answer, at most
LONGEST = 2000  # characters of a text


class Events(Component):
    """A ring of events, numbered from 1 since the start of the process."""

    def __init__(self) -> None:
        self._ring: deque[EventRow] = deque(maxlen=KEPT)
        self._next = 1

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(EventOccurred, self._add),)

    def _add(self, fact: EventOccurred) -> None:
        who = fact.who
        self._ring.append(
            EventRow(
                number=self._next,
                wall=fact.wall,
                kind=fact.kind,
                node=who.name if who is not None else "",
                uuid=who.uuid.hex() if who is not None else "",
                boot=who.boot if who is not None else 0,
                text=fact.text[:LONGEST],
                view=fact.view,
            )
        )
        self._next += 1

    def events_after(self, number: int) -> tuple[list[EventRow], int]:
        """Return events after `number`, oldest first, at most `AT_ONCE`, and the number to continue from."""
        found = fitting((event for event in self._ring if event.number > number), AT_ONCE)
        return found, found[-1].number if found else max(number, 0)
