"""The feed of another site at this master: owed messages, in order, until the site has answered them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile

from mesh.features.sites.node.passing import may_leave
from mesh.features.sites.node.site_in_flight import PartlySent, SiteInFlight
from mesh.features.sites.node.skipped_positions import SkippedPositions
from mesh.features.sites.node.waiting_at_site import WaitingAtSite
from mesh.flow.inflight import AnsweredPart
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.feed_state import Lost
from mesh.routing.overflow import Credit
from mesh.routing.paging import Paging
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.expiry import all_void
from mesh.wire.replies import Depth

# Law 1: nothing here waits for another site: its feed never slows a publisher, and is never cut off.
# Law 2: a sent message is settled once all messages before it have their final answers. So the position from
# which the site is owed after a restart never passes an open message.
# Law 3: a message that waits in the other site for an unreachable master does not block others.
# Law 4: room is decided once: a kept message is kept after every restart, and a dropped one is owed no more.


def site_key(site: str) -> bytes:
    """Return the key of the site's records in the store."""
    return b"s" + site.encode()


class SiteFeed(Feed):
    """The feed of one site.

    `leaves` is called with slices that may be sent now. No non-persistent message is added while `transient`
    bytes wait. `passes` is called with the first and last position of a run that is no longer owed.
    """

    def __init__(
        self,
        site: str,
        credit: Credit,
        leaves: Callable[[SiteFeed, PartlySent], None],
        released: Callable[[StoredEnvelope], None],
        transient: int,
        wall: Callable[[], int] = lambda: 0,
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
        passes: Callable[[int, int], None] = lambda first, last: None,
    ) -> None:
        super().__init__(
            site_key(site),
            credit,
            lambda feed, slice_: self._leave(slice_),
            released,
            wall=wall,
            paging=paging,
            lost=lost,
        )
        self.site = site
        self.in_flight = SiteInFlight()
        self.paces = False
        self.connected = True  # always: sent slices wait in `in_flight`
        self.rejects = False
        self.passed_over = SkippedPositions()
        self._passes = passes
        self._not_owed: Ranges | None = None  # positions in our log, during the start
        self._transient = transient
        self._window = credit.bytes
        self._backlog.void_at = all_void
        self._leaves = leaves
        self._row: dict[PartlySent, EnvelopeSlice] = {}  # sent slices in order, except those in `_parked`
        self._parked = WaitingAtSite()
        self._passed = 0  # last position before everything in transit
        self._ahead = 0  # last settled position in `_parked`
        self._may_expire = False  # whether any waiting message can expire

    def offer(self, slice_: EnvelopeSlice, now: float) -> None:
        stored, dropped = slice_.stored, self.dropped
        is_owed = self._not_owed is None or stored.position not in self._not_owed
        if not (is_owed and may_leave(stored.envelope)):  # kept in the log for other sinks
            self.release(stored)
            return
        self.in_flight.promise_slice(slice_)
        self._may_expire |= stored.envelope.expires > 0
        super().offer(slice_, now)
        if slice_.is_persistent and self.dropped == dropped:
            self.passed_over.end_run()

    def resumes(self, position: int, passed_over: SkippedPositions) -> None:
        """Resume after the log position `position`.

        Messages offered until `resumed` were kept before the start, except those in `passed_over`.
        """
        self.position, self.passed_over, self._not_owed = position, passed_over, passed_over.places()

    def resumed(self) -> None:
        """End the restore phase: messages offered after this call are new."""
        self._not_owed = None

    def set_limit(self, size: int, rejects: bool) -> None:
        """Set the limit to `size` bytes, without dropping waiting messages.

        `rejects` means that messages without room are refused to their publisher.
        """
        self.rejects = rejects
        self.credit = replace(self.credit, bytes=min(self._window, size), backlog=size)
        self._backlog.resize(self.credit)
        self._flight.resize(self.credit)
        self.pump()

    @property
    def is_through(self) -> bool:
        """Whether all owed messages were sent, so that none waits here."""
        return not self._backlog

    def has_room(self, is_persistent: bool) -> bool:
        """Return whether another message of that kind, persistent or transient, may wait."""
        if self.waiting_bytes >= self.credit.backlog:
            return False
        return is_persistent or self._backlog.bytes < self._transient

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        return self.position + 1

    def apply_answer(self, stream: bytes, answer: Answer, now: float) -> list[AnsweredPart[PartlySent]]:
        """Apply an answer of the site, and return the slices that it concerns, with their numbers."""
        found = self.in_flight.settle_answer(stream, answer)
        for given, _, _, _ in found:
            if not given.left and given in self._parked:
                self._unpark(given)
        before = self._flight.used
        for done in list(takewhile(lambda given: not given.left, self._row)):
            del self._row[done]
            before += 1
        if before > self._flight.used:
            self.on_processed(before, now)
        return found

    def waits(self, stream: bytes, answer: Answer) -> None:
        """Remove from the window the slices that wait at the site for a master, so that they block no others.

        Slices for which `WaitingAtSite` has no room stay in the window.
        """
        for given in self.in_flight.about(stream, answer):
            if given in self._row and self._parked.has_room(self.credit):
                self._parked.add(given, self._recall(given))
        self.pump()

    def _recall(self, given: PartlySent) -> EnvelopeSlice:
        """Remove a slice from the window, even if earlier slices are still in it."""
        self._flight.sent -= 1  # else it would be settled next
        return self._flight.remove_slice(self._row.pop(given))

    def _unpark(self, given: PartlySent) -> None:
        slice_ = self._parked.pop(given)
        self._ahead = max(self._ahead, slice_.stored.position)
        self.delivered += slice_.messages
        self._settle()
        self.release(slice_.stored)

    def _settle(self) -> None:
        """Advance the position to the last one before all open messages."""
        if not self._row:
            self._passed = max(self._passed, self._ahead)
        self.position = max(self.position, self._parked.settled(self._passed))

    def is_void(self, given: PartlySent) -> bool:
        """Return whether the slice left the backlog, was never sent, and has expired."""
        slice_ = None if given.was_sent else self._row.get(given)
        return slice_ is not None and slice_.is_void(self._wall())

    def drop_expired(self) -> list[PartlySent]:
        """Return the slices that have expired and were never sent."""
        return [given for given in self._row if self.is_void(given)]

    def expire(self, void: Iterable[PartlySent]) -> None:
        """Drop expired slices, so that they use no room and block no others."""
        for given in void:
            self.in_flight.drop_slice(given)
            slice_ = self._recall(given)
            self._ahead = max(self._ahead, slice_.stored.position)
            super()._leave_out(slice_, slice_.every)
            self.release(slice_.stored)
        self._settle()
        self.pump()

    def expire_waiting(self, then: Callable[[], None]) -> None:
        """Drop expired messages that have not left.

        `then` is called when more was read from disk.
        """
        self._may_expire &= bool(self._backlog)
        if not self._may_expire:
            return
        wall = self._wall()
        for slice_ in self._backlog.take_void(lambda slice_: slice_.is_void(wall)):
            self._leave_out(slice_, slice_.every)
            self.release(slice_.stored)  # not settled: earlier ones still wait
        self._backlog.fetch_void(wall, then, self.credit.bytes)
        self.pump()

    def depth(self, wall: int) -> Depth:
        """Return the count and size of waiting and unanswered messages, and the age of the oldest unanswered.

        `wall` is the time in ns since 1970; without unanswered slices the age is 0.
        """
        sent = min((given.envelope.sent for given in self._oldest()), default=wall)
        return Depth(messages=self.pending, bytes=self.waiting_bytes, age=max(0.0, (wall - sent) / 1e9))

    def _oldest(self) -> Iterator[PartlySent]:
        """Yield the oldest unanswered slice that waits at the site, and the oldest in transit."""
        for row in (self._parked, self._row):
            yield from islice((given for given in row if given.left), 1)

    @property
    def is_owed(self) -> bool:
        return bool(self._parked) or super().is_owed

    @property
    def waiting_bytes(self) -> int:
        return super().waiting_bytes + self._parked.bytes

    @property
    def pending(self) -> int:
        return super().pending + self._parked.messages

    @property
    def items(self) -> int:
        return super().items + len(self._parked)

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        return super().holds(stream, domain, number) or self._parked.holds(stream, domain, number)

    def _leave(self, slice_: EnvelopeSlice) -> None:
        given = self.in_flight.add_slice(slice_)
        self._row[given] = slice_
        self._leaves(self, given)

    def _settle_slice(self, slice_: EnvelopeSlice) -> None:
        stored = slice_.stored
        if stored.own:
            self._passed = max(self._passed, stored.position)
            self._settle()
        self.release(stored)

    def _take_everything(self) -> list[EnvelopeSlice]:
        self._row = {}
        return [*self._parked.take_all(), *super()._take_everything()]

    def _finds_room(self, slice_: EnvelopeSlice, now: float) -> bool:
        is_persistent = slice_.is_persistent
        # With `rejects`, persistent messages that were being written when the limit was reached have been
        # accepted, or will be.
        is_kept = self._not_owed is not None or (self.rejects and is_persistent)
        return is_kept or self.has_room(is_persistent)

    def _leave_out(self, slice_: EnvelopeSlice, void: Sequence[int]) -> None:
        self.in_flight.drop(slice_.stored.envelope.cut(void))
        super()._leave_out(slice_, void)

    def _drop(self, slice_: EnvelopeSlice, why: str) -> int:
        if slice_.stored.is_here:  # else its contents are unknown
            self.in_flight.drop(slice_.stored.envelope.cut(slice_.every))
        place = slice_.stored.position
        if place and why == "OVERRUN":
            self._passes(self.passed_over.add(place), place)
        return super()._drop(slice_, why)
