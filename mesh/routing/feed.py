"""Messages owed to one subscriber, in order, within its credit.

A feed belongs to a client's subscription, to the replies of a session, to an inbox, to a peer, or to another
site. Messages beyond the credit wait in a backlog: transient ones as the overflow policy says, persistent
ones up to a limit. Messages without room are dropped and the gap is reported. Expired messages are not sent.

Law: matched = delivered + dropped + expired + buried + pending, in messages, at every moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from mesh.errors import RemoteError
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed_state import PROGRESS, FeedState, Lost
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import PROVISIONAL


class Feed(FeedState):
    """The feed of a client's subscription, and the base class of other feeds.

    `send` is called for each slice that may be sent, `overran` after a drop for lack of room, and
    `ends_in_gap` when only a gap is left to report. `released` is called for each persistent envelope that no
    sink needs any longer, or of which fewer messages may be needed. `lost` is called for dropped and expired
    messages, with a reason of `mesh.reasons.texts`, but not by `clear`. `wall` returns ns
    since 1970, for expiry, and with `paging` slices may wait on disk only.
    """

    def __init__(
        self,
        key: bytes,
        credit: Credit,
        send: Callable[[Feed, EnvelopeSlice], None],
        released: Callable[[StoredEnvelope], None],
        overflow: Overflow = Overflow.BLOCK,
        wall: Callable[[], int] = lambda: 0,
        overran: Callable[[Feed], None] = lambda feed: None,
        paging: Paging | None = None,
        lost: Lost = lambda envelope, why, n: None,
        ends_in_gap: Callable[[Feed], None] = lambda feed: None,
    ) -> None:
        super().__init__(key, credit, overflow, paging, released, lost)
        self._wall = wall
        self._send = send
        self._overran = overran
        self._ends_in_gap = ends_in_gap

    # --- input and output -------------------------------------------------------------------------------

    def offer(self, slice_: EnvelopeSlice, now: float) -> None:
        """Send the slice, append it to the backlog, or drop it. A closed feed only releases it.

        A slice of a master in `aside` waits there, or is released.
        """
        if self.aside and slice_.stored.master in self.aside:
            self._put_aside(slice_)
            return
        self.offer_resumed(slice_, now)

    def offer_resumed(self, slice_: EnvelopeSlice, now: float) -> None:
        """Offer a slice of a resumed log, ahead of the slices in `aside`."""
        slice_.number = self.offered = self.offered + 1
        if self.closed:
            self.release(slice_.stored)
            return
        self.matched += slice_.messages
        slice_.gap, self.gap = self.gap, 0
        if self.connected and not (self.is_held or self._backlog) and self._flight.has_room:
            if not self._flight:
                self._progress = now  # it had nothing to receive until now
            self._depart(slice_)
        elif self._finds_room(slice_, now):
            self._backlog.append(slice_, is_awaited=self.paces and self.alive(now))
        else:
            self._overrun(slice_)

    def begin_with(self, slices: Iterable[EnvelopeSlice], now: float) -> None:
        """Offer the history of topics to a held feed before all slices that wait, and send them."""
        waiting = self._backlog.take_all()
        for slice_ in slices:
            self.offer(slice_, now)
        for slice_ in waiting:
            slice_.number = self.offered = self.offered + 1
            self._backlog.append(slice_)
        self.release_held()

    def release_held(self) -> None:
        """Send the waiting messages, without waiting for the first values any longer."""
        self.is_held = False
        self.pump()

    def offer_now(self, slice_: EnvelopeSlice, now: float) -> bool:
        """Offer the slice if it can be sent now, and return whether it was offered."""
        if self.closed or self.is_held or not self.connected or self._backlog or not self._flight.has_room:
            return False
        self.offer(slice_, now)
        return True

    def on_processed(self, total: int, now: float) -> None:
        """Process the report that the subscriber has processed `total` items since the last restart.

        This makes room for waiting slices, which are sent. A peer repeats the same report while its own
        readers are behind, which counts as a sign of life. Raises: RemoteError with FORGED_ACK, if
        `total` exceeds the items sent.
        """
        self._said = now
        flight = self._flight
        if total > flight.sent:
            text = f"the acknowledged number of items is {total}, but that of sent items is {flight.sent}"
            raise RemoteError(text, code="FORGED_ACK")
        while flight.used < total:
            flight.used += 1
            slice_ = flight.pop()
            self.delivered += slice_.messages
            self._settle_slice(slice_)
            self._progress, self._is_overrun = now, False
        self.pump()

    def connect(self, now: float) -> None:
        """Record that the subscriber is connected, and send waiting slices."""
        self.connected = True
        self._progress, self._is_overrun = now, False
        self.pump()

    def pump(self) -> None:
        """Send waiting slices as far as the credit allows, read more from disk, and report the last gap."""
        if self.connected and not self.is_held and self._backlog:
            while self._backlog.is_ready and self._flight.has_room:
                slice_ = self._backlog.pop()
                if slice_.stored.is_here:
                    self._depart(slice_)
                else:  # the disk has lost it
                    self._leave_gap(self._drop(slice_, "LOST"))
            self._backlog.fetch(self.pump)
        if self.gap or self.has_unknown_gap:
            self.tell_gap()

    def missed(self, messages: int) -> None:
        """Add `messages` that other nodes dropped to the gap, which is reported when nothing else is owed."""
        self.gap += messages
        self.tell_gap()

    def miss_unknown(self) -> None:
        """Report, when nothing else is owed, that an unknown number of messages may be missing."""
        self.has_unknown_gap = True
        self.tell_gap()

    def tell_gap(self) -> None:
        """Report the gap behind all slices, if the subscriber is connected and nothing else is owed."""
        if (self.gap or self.has_unknown_gap) and self.connected and not self.is_owed:
            self._ends_in_gap(self)

    def restart(self) -> None:
        """Requeue the slices in flight after the receiver lost its state.

        Transient ones are dropped, except in an inbox.
        """
        self._requeue_all(())

    def disconnect(self, now: float) -> None:
        self.connected = False
        self.gone_since = now

    def take_of(self, master: bytes) -> list[EnvelopeSlice]:
        """Remove and return the waiting slices of a master. They no longer count as matched."""
        taken = list[EnvelopeSlice]()
        for slice_ in self._backlog.take_all():
            if slice_.stored.master == master:
                self.matched -= slice_.messages
                self.gap += slice_.take_gap()
                taken.append(slice_)
            else:
                self._backlog.append(slice_)
        return taken

    # --- giving up --------------------------------------------------------------------------------------

    def shed(self, frees_memory: bool = False) -> None:
        """Drop the transient messages that wait for a receiver that is cut off. An inbox keeps them.

        With `frees_memory`, messages in the logs of other masters are dropped, too.
        """
        gap = 0
        for slice_ in self._backlog.take_all():
            if self._stays(slice_) and (slice_.stored.own or not frees_memory):
                slice_.gap, gap = slice_.gap + gap, 0
                self._backlog.append(slice_)
            else:
                gap += self._drop(slice_, "CUT_OFF")
        self.gap += gap

    def close(self) -> None:
        self.closed = True
        self.clear()

    def clear(self) -> None:
        """Drop all slices, in flight or waiting, without calls of `lost`."""
        self.dropped += self.pending
        aside, self.aside = self.aside, {}
        for slice_ in chain(self._take_everything(), *filter(None, aside.values())):
            self.release(slice_.stored)

    # --- overridden by other kinds of feeds -------------------------------------------------------------

    def _settle_slice(self, slice_: EnvelopeSlice) -> None:
        stored = slice_.stored
        if stored.own:
            self.position = max(self.position, stored.position)
        self.release(stored)

    def _stays(self, slice_: EnvelopeSlice) -> bool:
        """Return whether the slice is kept for a receiver that is cut off or has lost its state."""
        return slice_.is_persistent

    def _finds_room(self, slice_: EnvelopeSlice, now: float) -> bool:
        if slice_.is_persistent or slice_.is_first:
            return self._backlog.has_place
        # Transient slices may wait longer than publishers do: dropping them is worse.
        is_slow = self.paces and self.connected and now - self._sign_of_life(now) < 4 * PROGRESS
        while not self._backlog.has_room(slice_, is_slow):
            oldest = self._backlog.giving_way_to(slice_)
            if oldest is None:
                return False
            self._overrun(self._backlog.remove_slice(oldest), slice_)
        return True

    def _leave_out(self, slice_: EnvelopeSlice, void: Sequence[int]) -> None:
        self.expired += len(void)
        self._lost(slice_.stored.envelope, "EXPIRED", len(void))

    def _put_aside(self, slice_: EnvelopeSlice) -> None:
        kept = self.aside[slice_.stored.master]
        if kept is None or self.closed:
            self.release(slice_.stored)
        else:
            kept.append(slice_)

    def _take_everything(self) -> list[EnvelopeSlice]:
        return [*self._flight.take_all(), *self._backlog.take_all()]

    # --- internals --------------------------------------------------------------------------------------

    def _requeue_all(self, taken: Sequence[EnvelopeSlice], gap: int = 0) -> None:
        """Return all slices to the backlog, including those in `taken`, behind a gap of `gap` messages.

        Slices in flight that `_stays` rejects are dropped, because the receiver may have lost them.
        """
        flight, waiting = self._flight.take_all(), self._backlog.take_all()
        lost = [slice_ for slice_ in flight if not self._stays(slice_)]
        self._flight.sent = self._flight.used = 0
        # Waiting slices may have been offered before those that the receiver lost.
        for slice_ in sorted((*taken, *flight, *waiting), key=lambda slice_: slice_.number):
            if slice_ in lost and slice_.stored.envelope.flags & PROVISIONAL:  # its master will send it
                self.delivered += slice_.messages
            elif slice_ in lost:
                gap += self._drop(slice_, "LOST")
            else:
                slice_.gap, gap = slice_.gap + gap, 0
                self._backlog.append(slice_)
        self.gap += gap

    def _overrun(self, slice_: EnvelopeSlice, newest: EnvelopeSlice | None = None) -> None:
        """Drop a slice without room, and attach the gap to the slice that follows, or to the end.

        `newest` is the slice that the drop makes room for, if it is not the dropped one.
        """
        gap = self._drop(slice_, "OVERRUN")
        is_old = slice_.number < self.offered  # no later slice waits otherwise
        if not (is_old and self._backlog.leave_gap(gap, slice_.number)):
            heir: Feed | EnvelopeSlice = self if newest is None else newest
            heir.gap += gap
        self._is_overrun = True
        self._overran(self)

    def _depart(self, slice_: EnvelopeSlice) -> None:
        void = slice_.trim(self._wall())
        if slice_.messages:
            self._flight.append(slice_)
            self._flight.sent += 1
            self._send(self, slice_)
        else:
            self._leave_gap(slice_.take_gap())
            self.release(slice_.stored)
        if void:
            self._leave_out(slice_, void)
