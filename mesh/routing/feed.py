"""Messages owed to one subscriber, in order, within its credit.

A feed belongs to a client's subscription, to the replies of a session, to an inbox, to a peer, or to another
site. Messages beyond the credit wait in a backlog: transient ones as the overflow policy says, persistent
ones up to a limit. Messages without room are dropped and the gap is reported. Expired messages are not sent.

Law: matched = delivered + dropped + expired + buried + pending, in messages, at every moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import inf

from mesh.errors import RemoteError
from mesh.routing.backlog import Backlog
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.flight import Flight
from mesh.routing.overflow import Credit, Overflow
from mesh.routing.paging import Paging
from mesh.routing.querytrie import wants
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.commands import Query
from mesh.wire.envelope import PROVISIONAL, Envelope

Lost = Callable[[Envelope, str, int], None]  # messages lost to the subscriber: envelope, reason, count

# Seconds: a subscriber with progress this recently is slow, not stopped.
PROGRESS = 0.5
# Seconds to wait for a peer that reports being behind and makes no progress. Peers that route for each other
# could otherwise wait for each other forever.
PATIENCE = 10.0


class Feed:
    """The feed of a client's subscription, and the base class of other feeds.

    `send` is called for each slice that may be sent, `overran` after a drop for lack of room, and
    `ends_in_gap` when only a gap is left to report. `released` is called for each persistent envelope that no
    sink needs any longer, or of which fewer messages may be needed. `lost` is called for dropped and expired
    messages, with a reason of `mesh.reasons.texts`, but not by `clear`. `wall` returns ns
    since 1970, for expiry, and with `paging` slices may wait on disk only.
    """

    is_peer = False
    since: Mapping[Query, Mapping[bytes, int]] = {}  # for peers only

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
        self.key = key  # name of its record in the store
        self.credit = credit
        self.overflow = overflow
        self.paces = overflow is Overflow.BLOCK  # publishers wait for it while it makes progress
        self.owner = ""  # name of the peer; "" otherwise
        self.queries: dict[Query, int] = {}  # query: log position from which it counts
        self.floors: dict[bytes, int] = {}  # by other master: its log position at the start
        self.position = 0  # highest settled position of this node's log
        self.connected = False
        self.is_held = False  # sends nothing until its first values arrive
        self.history = 1  # initial messages of each topic, at most
        self.gone_since = 0.0
        self.closed = False
        self.matched = self.delivered = self.dropped = self.expired = self.buried = 0  # messages
        self.coming = 0  # bytes accepted for it and being stored
        self.gap = 0  # unreported dropped messages behind all slices
        # By master: slices that wait until the session's resume of its log is complete; None: not delivered.
        self.aside: dict[bytes, list[EnvelopeSlice] | None] = {}
        self._wall = wall
        self._send = send
        self._released = released
        self._overran = overran
        self._lost = lost
        self._ends_in_gap = ends_in_gap
        self._offered = 0
        self._backlog = Backlog(credit, overflow, paging)
        self._flight = Flight(credit)
        self._progress = 0.0
        self._said = 0.0  # time of its last report, even without progress
        self._is_overrun = False  # dropped something since its last progress

    # --- queries ----------------------------------------------------------------------------------------

    def add_query(self, query: Query, position: int, since: dict[bytes, int]) -> None:
        """Add a query that is owed messages from `position` of this node's log on.

        `since` has the last positions that are not owed in the logs of other masters, by uuid. Only the feed
        of a peer uses `since`.
        """
        self.queries[query] = position

    def expect(self, stored: StoredEnvelope, sign: int) -> None:
        """Add (`sign` +1) or subtract (-1) the bytes of an accepted envelope that is being stored.

        The caller subtracts them when the envelope is on disk or was refused.
        """
        self.coming += sign * stored.size

    def first_owed_position(self, key: str, domain: str, xml: str = "") -> float:
        """Return the first position in this node's log that is owed for this topic and not settled.

        Return infinity if no query matches the topic.
        """
        asked = (since for query, since in self.queries.items() if wants(query, key, domain, xml))
        return max(self.position + 1, min(asked, default=inf))

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
        slice_.number = self._offered = self._offered + 1
        if self.closed:
            self.release(slice_.stored)
            return
        self.matched += slice_.messages
        slice_.gap, self.gap = self.gap, 0
        is_ready = self.connected and not self.is_held
        if is_ready and not self._backlog and self._flight.has_room:
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
            slice_.number = self._offered = self._offered + 1
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
        if self.gap:
            self.tell_gap()

    def missed(self, messages: int) -> None:
        """Add `messages` that other nodes dropped to the gap, which is reported when nothing else is owed."""
        self.gap += messages
        self.tell_gap()

    def tell_gap(self) -> None:
        """Report the gap behind all slices, if the subscriber is connected and nothing else is owed."""
        if self.gap and self.connected and not self.is_owed:
            self._ends_in_gap(self)

    def take_gap(self) -> int:
        gap, self.gap = self.gap, 0
        return gap

    def restart(self) -> None:
        """Requeue the slices in flight after the receiver lost its state.

        Transient ones are dropped, except in an inbox.
        """
        self._requeue_all(())

    def disconnect(self, now: float) -> None:
        self.connected = False
        self.gone_since = now

    def masters(self) -> set[bytes]:
        """Return the masters of the slices in flight, waiting or set aside."""
        aside = chain.from_iterable(filter(None, self.aside.values()))
        return {slice_.stored.master for slice_ in chain(self._flight, self._backlog, aside)}

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

    # --- state ------------------------------------------------------------------------------------------

    def alive(self, now: float) -> bool:
        """Return whether the subscriber makes progress, so that publishers should wait for it briefly."""
        return self.connected and now - self._sign_of_life(now) < PROGRESS

    @property
    def stands_since(self) -> float | None:
        """The time of the last progress, or None if disconnected or if nothing was dropped since then."""
        return self._progress if self.connected and self._is_overrun else None

    @property
    def line(self) -> int:
        """The number of items sent since the last restart, plus the number of waiting items."""
        return self._flight.sent + len(self._backlog)

    @property
    def is_owed(self) -> bool:
        """Whether anything is in flight, waiting or unsettled."""
        return bool(self._flight or self._backlog)

    @property
    def waiting_bytes(self) -> int:
        return self._flight.bytes + self._backlog.bytes

    @property
    def under_way_bytes(self) -> int:
        """The bytes that were sent and are not processed yet."""
        return self._flight.bytes

    def all_stored(self) -> Iterator[StoredEnvelope]:
        """Yield the stored envelopes in flight, and those waiting in memory that `Memory` does not count."""
        yield from (slice_.stored for slice_ in self._flight)
        for slice_ in self._backlog:
            if not (slice_.stored.own and slice_.is_persistent):
                yield slice_.stored

    @property
    def pending(self) -> int:
        """The number of messages in flight or waiting."""
        return self._flight.messages + self._backlog.messages

    @property
    def items(self) -> int:
        """The number of slices in flight or waiting."""
        return len(self._flight) + len(self._backlog)

    def holds(self, stream: bytes, domain: str, number: int) -> bool:
        """Return whether the message is in flight, or waits in memory."""
        return any(slice_.holds(stream, domain, number) for slice_ in chain(self._flight, self._backlog))

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

    def _sign_of_life(self, now: float) -> float:
        """Return the time of the last progress, or of a later report until PATIENCE after that progress."""
        progress, said = self._progress, self._said
        return said if said > progress and now - progress < PATIENCE else progress

    def _overrun(self, slice_: EnvelopeSlice, newest: EnvelopeSlice | None = None) -> None:
        """Drop a slice without room, and attach the gap to the slice that follows, or to the end.

        `newest` is the slice that the drop makes room for, if it is not the dropped one.
        """
        gap = self._drop(slice_, "OVERRUN")
        is_old = slice_.number < self._offered  # no later slice waits otherwise
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

    def _leave_gap(self, gap: int) -> None:
        if gap and not self._backlog.leave_gap(gap):
            self.gap += gap

    def _drop(self, slice_: EnvelopeSlice, why: str) -> int:
        """Drop the slice, and return its messages plus the gap before it."""
        self.dropped += slice_.messages
        self._lost(slice_.stored.envelope, why, slice_.messages)
        self.release(slice_.stored)
        return slice_.messages + slice_.take_gap()

    def release(self, stored: StoredEnvelope) -> None:
        """Record that this feed no longer needs an envelope that it was offered."""
        if stored.position:
            stored.owed -= 1
            is_thinner = stored.shares is not None and stored.shares.settle(self)
            if is_thinner or not stored.owed:
                self._released(stored)
            if stored.paged:
                stored.give_away()
