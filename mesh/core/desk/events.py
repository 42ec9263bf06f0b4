"""What has happened to this mesh, as this node saw it? The last thousand things, for whoever asks."""

from __future__ import annotations

from collections import deque

from mesh.core.desk.pages import fitting
from mesh.wire.replies import EventRow

KEPT = 1024
AT_ONCE = 256  # in one answer, at most
LONGEST = 2000  # letters of a text


class Events:
    """Numbered from 1 since the start of the process."""

    def __init__(self) -> None:
        self._ring: deque[EventRow] = deque(maxlen=KEPT)
        self._next = 1

    def add(self, kind: str, text: str, wall: int, name: str = "", uuid: bytes = b"", boot: int = 0) -> None:
        self._ring.append(
            EventRow(
                number=self._next,
                wall=wall,
                kind=kind,
                node=name,
                uuid=uuid.hex(),
                boot=boot,
                text=text[:LONGEST],
            )
        )
        self._next += 1

    def after(self, number: int) -> tuple[list[EventRow], int]:
        """Those with a higher number, oldest first, and where to go on."""
        found = fitting((event for event in self._ring if event.number > number), AT_ONCE)
        return found, found[-1].number if found else max(number, 0)
