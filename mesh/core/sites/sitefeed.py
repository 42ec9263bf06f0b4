"""Everything that another site is owed by this master, in order, until a master there has it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from mesh.core.sites.custody import Custody, Given
from mesh.routing.feed import Feed, Lost
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.sites.hops import is_foreign
from mesh.wire.commands import Answer
from mesh.wire.envelope import ERASED, INITIAL, LOCAL_ONLY, Envelope
from mesh.wire.replies import Depth

STAYS = ERASED | INITIAL | LOCAL_ONLY  # flags of what leaves no site

# Law 1: nobody here waits for another site: its feed never paces, and it is never cut off.
# Law 2: what leaves is taken once all before it have their last words, too: so its place in the log, from
#        which it is owed after a restart, never passes what is open.


def site_key(site: str) -> bytes:
    """The name of its records in the store."""
    return b"s" + site.encode()


def may_leave(envelope: Envelope) -> bool:
    """Does it go to other sites, if they are to have it? What came from one does not."""
    return not (envelope.to or envelope.flags & STAYS or is_foreign(envelope.sender))


class SiteFeed(Feed):
    """That of one site. `leaves` hears of what may go now. `transient`: bytes of what is not persistent that
    may wait in memory."""

    def __init__(
        self,
        site: str,
        credit: Credit,
        leaves: Callable[[SiteFeed, Given], None],
        released: Callable[[Parcel], None],
        transient: int,
        wall: Callable[[], int] = lambda: 0,
        overran: Callable[[Feed], None] = lambda feed: None,
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
    ) -> None:
        super().__init__(
            site_key(site),
            credit,
            lambda feed, portion: self._leave(portion),
            released,
            wall=wall,
            overran=overran,
            paging=paging,
            lost=lost,
        )
        self.site = site
        self.custody = Custody()
        self.paces = False
        self.connected = True  # whether there is a way or not: what has left waits in custody
        self._transient = transient
        self._leaves = leaves
        self._row = deque[Given]()  # what has left, in order

    def offer(self, portion: Portion, now: float) -> None:
        if may_leave(portion.parcel.envelope):
            self.custody.offer(portion)
            super().offer(portion, now)
        else:  # it stood in the log for others
            self._release(portion.parcel)

    def owed_from(self, key: str, domain: str, xml: str = "") -> float:
        return self.position + 1

    def answered(
        self, stream: bytes, answer: Answer, now: float
    ) -> list[tuple[Given, list[tuple[int, int]]]]:
        """The site has said what became of these. Returns what that is about."""
        found = list(self.custody.answered(stream, answer))
        before = self._flight.used
        while self._row and not self._row[0].left:
            self._row.popleft()
            before += 1
        if before > self._flight.used:
            self.taken(before, now)
        return found

    def depth(self, wall: int) -> Depth:
        """What waits, or has left and is not answered; the age is that of the first of these."""
        sent = next((given.envelope.sent for given in self._row if given.left), wall)
        return Depth(messages=self.pending, bytes=self.waiting_bytes, age=max(0.0, (wall - sent) / 1e9))

    # --- in what it differs -----------------------------------------------------------------------------

    def _leave(self, portion: Portion) -> None:
        given = self.custody.send(portion)
        self._row.append(given)
        self._leaves(self, given)

    def _finds_room(self, portion: Portion, now: float) -> bool:
        if portion.is_persistent:
            return self._backlog.has_place
        return self._backlog.bytes < self._transient

    def _leave_out(self, portion: Portion, void: Sequence[int]) -> None:
        self.custody.drop(portion.parcel.envelope.cut(void))
        super()._leave_out(portion, void)

    def _drop(self, portion: Portion, why: str) -> int:
        if portion.parcel.is_here:  # else nobody knows any more what it was
            self.custody.drop(portion.parcel.envelope.cut(portion.every))
        return super()._drop(portion, why)
