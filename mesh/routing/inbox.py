"""Direct messages to a client or session: no limit drops any, and expired ones are dead-lettered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope


class Inbox(Feed):
    """The feed of a client's or a session's address.

    Senders request room before they send, so the feed accepts every slice and delays no publisher. `bury` is
    called with messages that had expired when they were due. `void_at(envelope)` returns when all messages of
    an envelope have expired.
    """

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, EnvelopeSlice], None],
        released: Callable[[StoredEnvelope], None],
        bury: Callable[[EnvelopeSlice, Sequence[int]], None],
        wall: Callable[[], int] = lambda: 0,
        paging: Paging | None = None,
        void_at: Callable[[Envelope], int] = lambda envelope: 0,
    ) -> None:
        super().__init__(key, credit, send, released, wall=wall, paging=paging)
        self._backlog.void_at = void_at
        self.paces = False
        self._bury = bury

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        return self.position + 1

    @property
    def accepted_bytes(self) -> int:
        """The bytes in flight, waiting, or being stored."""
        return self.waiting_bytes + self.coming

    def take_all(self) -> list[EnvelopeSlice]:
        """Remove and return all waiting slices.

        A slice that was not in memory may have a placeholder for its envelope.
        """
        self.matched -= self._backlog.messages
        return self._backlog.take_all()

    def take_void(self, is_void: Callable[[Envelope], bool]) -> list[EnvelopeSlice]:
        """Remove and return the slices in memory that `is_void` selects. The caller dead-letters them.

        Expired slices on disk are read for a later call.
        """
        self._backlog.fetch_void(self._wall(), self.pump)
        void = self._backlog.take_void(lambda slice_: is_void(slice_.stored.envelope))
        for slice_ in void:
            self.buried += slice_.messages
            self.release(slice_.stored)  # not settled: earlier slices still wait
        return void

    def _stays(self, slice_: EnvelopeSlice) -> bool:
        return True

    def _finds_room(self, slice_: EnvelopeSlice, now: float) -> bool:
        return True

    def _leave_out(self, slice_: EnvelopeSlice, void: Sequence[int]) -> None:
        self.buried += len(void)
        self._bury(slice_, void)


def by_inbox(client: str, reader: str, slices: Sequence[EnvelopeSlice]) -> dict[str, list[EnvelopeSlice]]:
    """Return the slices by the inbox in which they wait.

    Messages to a client as a whole wait in the inbox of `reader`, messages to one session in that of the
    session.
    """
    found: dict[str, list[EnvelopeSlice]] = {}
    for slice_ in slices:
        to = slice_.stored.envelope.to
        found.setdefault(reader if to == client else to, []).append(slice_)
    return found


def place(slice_: EnvelopeSlice) -> tuple[int, bool]:
    """Return the sort key of the slice in the order of acceptance.

    A transient message follows the last stored one before it.
    """
    stored = slice_.stored
    return stored.position or stored.after, not stored.position
