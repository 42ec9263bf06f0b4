"""The last thousand events of this mesh, as this node saw them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mesh.core.desk.facts import Happened, Hearing, hear
from mesh.core.desk.pages import fitting
from mesh.core.desk.part import Part
from mesh.wire.replies import EventRow

KEPT = 1024
AT_ONCE = 256  # in one answer, at most
LONGEST = 2000  # characters of a text


class Events(Part):
    """A ring of events, numbered from 1 since the start of the process."""

    def __init__(self) -> None:
        self._ring: deque[EventRow] = deque(maxlen=KEPT)
        self._next = 1

    def hears(self) -> Sequence[Hearing]:
        return (hear(Happened, self._add),)

    def _add(self, fact: Happened) -> None:
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
            )
        )
        self._next += 1

    def after(self, number: int) -> tuple[list[EventRow], int]:
        """Return the events after `number`, oldest first, and the number to continue from."""
        found = fitting((event for event in self._ring if event.number > number), AT_ONCE)
        return found, found[-1].number if found else max(number, 0)
