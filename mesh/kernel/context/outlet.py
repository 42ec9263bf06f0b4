"""The outbound side of a subscriber's connection: packs slices into numbered item messages."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.passing import MOST, PassedNodes, pass_on, written
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.heldbodies import without_contents
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.streams.link import LinkSender
from mesh.wire.commands import ItemHead, Items, encode
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, chunks
from mesh.wire.limits import CHUNK, ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES

GROUP = 100  # subscriptions of one client that share an item: each may list 2,000 indices


NOTHING = Envelope(bytes(16), "", 1, 1, ("",), 1, 0, b"")  # follows a head that only reports gaps


class Keyed(Protocol):
    """A sink with the key of a subscription: a feed or a consumer."""

    key: bytes  # contains the subscription's number, see subscription_of


class Gapped(Protocol):
    """A slice after a gap, or a feed that ends in one."""

    gap: int

    def take_gap(self) -> int:
        """Return the gap, and reset it."""

    def return_gap(self, gap: int) -> None:
        """Add a gap that was taken, and is to be reported again."""


class UnknownGap:
    """The gap of unknown size in which a feed ends: its number is 0."""

    gap = 0

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def take_gap(self) -> int:
        self._feed.has_unknown_gap = False
        return self.gap

    def return_gap(self, gap: int) -> None:
        self._feed.has_unknown_gap = True


Emit = Callable[[Conn, list[bytes]], None]
# The number of a message, and the gaps that it reports: (source, messages) of its slices, and relayed gaps.
GapsTold = tuple[int, list[tuple[Gapped, int]], dict[PassedNodes, int]]


class Outlet:
    """The slices of all feeds that share a connection.

    `number` returns the subscription number of a feed.
    """

    def __init__(
        self, window_bytes: int, messages: int, number: Callable[[Keyed], int], to_peer: bool
    ) -> None:
        self.conn: Conn | None = None
        self.departed = 0  # slices sent since the numbers began
        self.passed_on: dict[PassedNodes, int] = {}  # to a peer: gaps that other nodes reported
        self.furthest: dict[bytes, int] = {}  # to a peer: another master -> highest position sent
        self.life = object()  # replaced when the numbers begin again
        self._window = (window_bytes, messages)
        self._number = number
        self._to_peer = to_peer
        self._queue: deque[tuple[Keyed, EnvelopeSlice]] = deque()
        self._sender: LinkSender[list[bytes]] = LinkSender(window_bytes, messages)
        self._told: deque[GapsTold] = deque()  # gaps in flight
        self._ending: dict[Feed, None] = {}  # feeds that end in a gap

    @property
    def next(self) -> int:
        return self._sender.next

    @property
    def unacked_bytes(self) -> int:
        return self._sender.bytes

    def push_slice(self, feed: Keyed, slice_: EnvelopeSlice) -> None:
        self._queue.append((feed, slice_))

    def tell_gap(self, feed: Feed) -> None:
        """Report the gap at the end of a feed to its client, after all slices that wait here."""
        self._ending[feed] = None

    def drop_slices(self, feed: Keyed) -> None:
        """Remove the queued slices of `feed`."""
        self._ending = {each: None for each in self._ending if each is not feed}
        self._queue = deque(pair for pair in self._queue if pair[0] is not feed)

    def restart(self) -> None:
        """Restart the numbers, and drop the queued slices.

        Feeds resend their items themselves. Unacknowledged gaps are reported again.
        """
        for _, gaps, passed_on in self._told:
            for whose, gap in gaps:
                whose.return_gap(gap)
            for path, messages in passed_on.items():
                pass_on(self.passed_on, path, messages)
        self._told.clear()
        self.life = object()
        self._sender = LinkSender(*self._window)
        self._queue.clear()
        self.departed = 0

    def can_resume(self, have: int) -> bool:
        """Return whether the numbers can continue for a receiver that has all messages up to `have`."""
        return self._sender.can_resume(have)

    def attach(self, conn: Conn, have: int, emit: Emit) -> None:
        """Continue on a new connection to the same process, and resend messages that did not arrive."""
        self.conn = conn
        for frames in self._sender.resume(have):
            emit(conn, frames)

    def detach(self) -> None:
        self.conn = None

    def on_acked(self, have: int) -> None:
        self._sender.on_acked(have)
        while self._told and self._told[0][0] <= have:
            self._told.popleft()

    def flush(self, emit: Emit) -> None:
        """Send as many items as the window allows."""
        while self._queue and self.conn is not None and self._sender.open:
            self._send(emit, self.conn, *self._gather())
        if self._ending and self.conn is not None and self._sender.open:
            ending, self._ending = self._ending, {}
            # Other gaps were reported meanwhile.
            self._send_gaps(emit, self.conn, [(feed, feed) for feed in ending if feed.gap])
            unknown = [(feed, UnknownGap(feed)) for feed in ending if feed.has_unknown_gap]
            self._send_gaps(emit, self.conn, unknown)

    def _send_gaps(self, emit: Emit, conn: Conn, ending: Sequence[tuple[Keyed, Gapped]]) -> None:
        """Send a head that only reports gaps, if there are any."""
        if ending:
            head = ItemHead(body_frames(NOTHING), gaps=self._take_gaps(ending))
            self._send(emit, conn, [head], [NOTHING.header(), *chunks(NOTHING.body)], 0)

    def _send(self, emit: Emit, conn: Conn, heads: list[ItemHead], frames: list[bytes], size: int) -> None:
        message = [encode(Items(self._sender.next, tuple(heads))), *frames]
        self._sender.sent(message, size)
        emit(conn, message)

    def _gather(self) -> tuple[list[ItemHead], list[bytes], int]:
        heads: list[ItemHead] = []
        frames: list[bytes] = []
        size = 0
        while self._queue and len(heads) < ENVELOPES_A_MESSAGE and size < ENVELOPE_BYTES:
            if len(frames) + 2 + len(self._queue[0][1].stored.envelope.body) // CHUNK + 1 >= FRAMES:
                break
            group = self._next_group()
            head, item = self._item(group)
            heads.append(head)
            self.departed += len(group)
            frames += item
            size += sum(map(len, item)) + sum(len(column) for _, column in head.targets)
        return heads, frames, size

    def _next_group(self) -> list[tuple[Keyed, EnvelopeSlice]]:
        """Take slices of one stored envelope for several subscriptions, to be sent as one item.

        A slice with delivery counts is sent alone, as the counts are those of one subscription.
        """
        group = [self._queue.popleft()]
        first = group[0][1]
        stored, most = first.stored, 1 if self._to_peer or first.tries else GROUP
        while self._queue and len(group) < most:
            slice_ = self._queue[0][1]
            if slice_.stored is not stored or slice_.tries:
                break
            group.append(self._queue.popleft())
        return group

    def _item(self, group: list[tuple[Keyed, EnvelopeSlice]]) -> tuple[ItemHead, list[bytes]]:
        first = group[0][1]
        stored = first.stored
        piece, places = _cut(stored.envelope, group)
        gapped = [pair for pair in group if pair[1].gap]
        gaps = self._take_gaps(gapped) if gapped or self.passed_on else ()
        targets: tuple[tuple[int, bytes], ...] = ()
        if not self._to_peer:
            targets = tuple((self._number(feed), _column(slice_, places)) for feed, slice_ in group)
        if stored.held_by is self.life:
            piece = without_contents(piece)
            frames = [piece.header(), *chunks(piece.body)]
        elif piece is stored.envelope:
            if not stored.frames:
                stored.frames = [piece.header(), *chunks(piece.body)]
            frames = stored.frames
        else:
            frames = [piece.header(), *chunks(piece.body)]
        position = stored.position or stored.after
        if (stored.is_late or (self._to_peer and not stored.own)) and not self._goes_on(stored):
            position = 0
        ttl, tries = stored.ttl, first.tries
        return ItemHead(body_frames(piece), position, stored.master, targets, gaps, ttl, tries), frames

    def _goes_on(self, stored: StoredEnvelope) -> bool:
        """Return whether the position of an item may be sent.

        From a position out of order, a client would conclude that a message was dropped, and a peer that it
        already has the message. A peer to which no higher position was sent needs the position to settle the
        message.
        """
        place = stored.position
        if self._to_peer and place > self.furthest.get(stored.master, 0):
            self.furthest[stored.master] = place
            return True
        return not stored.is_late

    def _take_gaps(self, gapped: Sequence[tuple[Keyed, Gapped]]) -> tuple[tuple[int, int], ...]:
        """Return the gaps to report before the next items, and keep them until they are acknowledged."""
        gaps = [(feed, whose, whose.take_gap()) for feed, whose in gapped]
        passed_on, self.passed_on = self.passed_on, {}
        self._told.append((self._sender.next, [(whose, gap) for _, whose, gap in gaps], passed_on))
        return (*((self._number(feed), min(gap, MOST)) for feed, _, gap in gaps), *written(passed_on))


def _cut(
    envelope: Envelope, group: list[tuple[Keyed, EnvelopeSlice]]
) -> tuple[Envelope, dict[int, int] | None]:
    """Return the part of the envelope that the group needs, and the places of messages in that part.

    The places are by index in the whole envelope, or `None` if the group needs all of it.
    """
    wanted: set[int] = set()
    for _, slice_ in group:
        if slice_.indices is None:
            return envelope, None
        wanted.update(slice_.indices)
    if len(wanted) == envelope.count:
        return envelope, None
    indices = sorted(wanted)
    return envelope.cut(indices), {index: place for place, index in enumerate(indices)}


def _column(slice_: EnvelopeSlice, places: dict[int, int] | None) -> bytes:
    """Return the places of the slice's messages in the part, as u16; empty means all its messages."""
    if slice_.indices is None:
        return b""
    if places is None:
        return array("H", slice_.indices).tobytes()
    if len(slice_.indices) == len(places):
        return b""
    return array("H", [places[i] for i in slice_.indices]).tobytes()
