"""The letters of one client or session: nothing of it is dropped, and what is void is buried."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.envelope import Envelope


class Inbox(Feed):
    """The feed of an address: whoever fills it asks for room first, and nobody waits for it.

    `bury` is called with messages that were void when their turn came. `void_at(envelope)`: by when all of
    it is.
    """

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, Portion], None],
        released: Callable[[Parcel], None],
        bury: Callable[[Portion, Sequence[int]], None],
        wall: Callable[[], int] = lambda: 0,
        paging: Paging | None = None,
        void_at: Callable[[Envelope], int] = lambda envelope: 0,
    ) -> None:
        super().__init__(key, credit, send, released, wall=wall, paging=paging)
        self._backlog.void_at = void_at
        self.paces = False
        self._bury = bury

    def owed_from(self, key: str, domain: str, xml: str = "") -> float:
        return self.position + 1

    @property
    def accepted_bytes(self) -> int:
        """Bytes under way or waiting, and those that will join them when they are on disk."""
        return self.waiting_bytes + self.coming

    def take_all(self) -> list[Portion]:
        """All that waits, which is somebody else's from now on; of what is on the disk alone, without the
        envelopes."""
        self.matched -= self._backlog.messages
        return self._backlog.take_all()

    def take_void(self, is_void: Callable[[Envelope], bool]) -> list[Portion]:
        """Give up what waits and is void, to be buried; returns it. What is on the disk alone is read, for
        the next time."""
        self._backlog.fetch_void(self._wall(), self.pump)
        void = self._backlog.take_void(lambda portion: is_void(portion.parcel.envelope))
        for portion in void:
            self.buried += portion.messages
            self._release(portion.parcel)  # not settled: what waits before it is still to come
        return void

    def _stays(self, portion: Portion) -> bool:
        return True

    def _finds_room(self, portion: Portion, now: float) -> bool:
        return True

    def _leave_out(self, portion: Portion, void: Sequence[int]) -> None:
        self.buried += len(void)
        self._bury(portion, void)


def by_inbox(client: str, reader: str, portions: Sequence[Portion]) -> dict[str, list[Portion]]:
    """Return the messages by the inbox in which they are to wait: those for a client as a whole in that of
    `reader`, those for one session in its own."""
    found: dict[str, list[Portion]] = {}
    for portion in portions:
        to = portion.parcel.envelope.to
        found.setdefault(reader if to == client else to, []).append(portion)
    return found


def place(portion: Portion) -> tuple[int, bool]:
    """Return the place in the order in which messages were accepted; a transient one has that of the last
    stored one before it."""
    parcel = portion.parcel
    return parcel.position or parcel.after, not parcel.position
