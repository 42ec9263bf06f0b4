"""A service of an address, or a member of a group: its messages, and its replies."""

# Law 1: the k-th message of an epoch has the delivery tag k. It is settled once, in its own epoch.
# Law 2: an epoch ends with its connection. Messages that were not begun are dropped, because the node gave
#        them up, and later settlements of the epoch are not sent.
# Law 3: a message that arrives while no epoch is open belongs to an older one.

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from math import inf

from mesh.client.batch import Batch
from mesh.client.core.builder import Builder
from mesh.client.core.client_context import Alarm, ClientContext
from mesh.client.core.delivered_envelope import as_ranges
from mesh.client.core.node_connection import NodeConnection
from mesh.client.message import Message
from mesh.errors import MeshError, RemoteError
from mesh.names import SENDS, address_text
from mesh.shortening import shown
from mesh.wire.commands import Consume, Settle
from mesh.wire.envelope import REPLY, REQUEST, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPE_MESSAGES
from mesh.wire.ttls import end_of

GRACE = 0.25  # s from a request's expiry to its settlement

SOON = 0.001  # s between checks for expired requests, at least

ALL = 2**32 - 1  # as a delivery tag: all messages


class Epoch:
    """The messages of one epoch, from the reply to CONSUME until the end of the connection."""

    __slots__ = ("dropped", "number", "open", "out", "taken")

    def __init__(self, number: int) -> None:
        self.number: int = number
        self.out: int = 0  # unsettled messages
        self.taken: int = 0  # last delivery tag begun or expired
        self.open: dict[int, float] = {}  # deadlines of open requests, by delivery tag
        self.dropped: deque[int] = deque()  # delivery tags of dropped requests; from any thread


class TakenRequest:
    """A message that a service has begun. A request that its user drops without a reply is settled."""

    __slots__ = ("count", "epoch", "is_answered", "message", "until", "wants_reply")
    message: Message
    epoch: Epoch
    count: int
    until: float
    wants_reply: bool
    is_answered: bool

    def __init__(self, message: Message, epoch: Epoch, count: int, until: float, wants_reply: bool) -> None:
        self.message, self.epoch, self.count = message, epoch, count
        self.until, self.wants_reply = until, wants_reply
        self.is_answered = False  # the user has replied

    def __del__(self) -> None:
        if self.wants_reply and self.count in self.epoch.open:
            self.epoch.dropped.append(self.count)


class ClientServing:
    """The service of one address, or a group member for one query, across reconnects.

    `stirred` is called when a message has arrived, and at the end.
    """

    number: int
    address: str
    credit: int

    def __init__(
        self,
        context: ClientContext,
        line: NodeConnection,
        stream: bytes,
        number: int,
        address: str,
        credit: int,
        local_only: bool,
    ) -> None:
        self.number, self.address, self.credit = number, address, credit
        self.is_asked: bool = False  # CONSUME is not answered yet
        self.error: MeshError | None = None  # reason of the end
        self.stirred: Callable[[], None] = lambda: None
        self._local_only = local_only
        self._context, self._line, self._stream = context, line, stream
        self._epoch: Epoch | None = None
        self._begun = ALL  # after the end: the last delivery tag begun
        self._waiting: deque[tuple[Envelope, Batch, Iterator[Message], float]] = deque()
        self._done: list[int] = []
        self._replies: list[tuple[int, bytes, bytes]] = []  # delivery tag, own properties, content
        self._is_planned = False
        self._alarm: Alarm | None = None

    # --- lifetime ---------------------------------------------------------------------------------------

    def asked_for(self, request: int, credit: int | None = None) -> Consume:
        """Return the command that begins an epoch, or with credit 0 ends the service."""
        credit = self.credit if credit is None else credit
        return Consume(request, self.number, self.address, credit, self._local_only, self._begun)

    def on_opened(self, epoch: object) -> None:
        self.is_asked = False
        if not isinstance(epoch, int) or not 0 <= epoch < 2**63:
            raise RemoteError(
                f"{address_text(self.address)}: the registration has the invalid epoch {shown(epoch)}",
                code="MALFORMED",
            )
        self._epoch = Epoch(epoch)

    @property
    def is_busy(self) -> bool:
        """True if the service has unsettled messages."""
        return self._epoch is not None and self._epoch.out > 0

    def on_disconnected(self) -> None:
        """End the epoch with its connection, and drop its messages and unsent settlements."""
        self._epoch = None
        self._waiting.clear()
        self._done.clear()
        self._replies.clear()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def end_with(self, error: MeshError) -> None:
        if self._epoch is not None:
            self._begun = self._epoch.taken
        self.on_disconnected()
        if self.error is None:
            self.error = error
            self.stirred()

    # --- receiving --------------------------------------------------------------------------------------

    def on_item(self, envelope: Envelope, indices: tuple[int, ...] | None, ttl: int) -> None:
        """Add an item; without an open epoch, drop it.

        A small excess over the credit is accepted. Raises: RemoteError if the credit is exceeded by far.
        """
        epoch = self._epoch
        if epoch is None:
            return
        epoch.out += envelope.count if indices is None else len(indices)
        if epoch.out > self.credit + ENVELOPE_MESSAGES:
            address = address_text(self.address)
            raise RemoteError(
                f"{address}: {epoch.out:,} messages are outstanding, but the credit is {self.credit:,}"
            )
        until = end_of(ttl, self._context.now)
        batch = Batch(envelope, indices)
        self._waiting.append((envelope, batch, iter(batch), until))
        self.stirred()

    def take_request(self) -> TakenRequest | None:
        """Begin and return the next message that has not expired; None if there is none now."""
        self._settle_dropped()
        while self._epoch is not None and self._waiting and self._line.is_up:
            envelope, _, messages, until = self._waiting[0]
            message = next(messages, None)
            if message is None:
                self._waiting.popleft()
                continue
            epoch = self._epoch
            epoch.taken += 1
            wants_reply, left = bool(envelope.flags & REQUEST), until - self._context.now
            if left <= (-GRACE if wants_reply else 0.0):
                self._settled(epoch, epoch.taken)
            elif wants_reply:
                self._open(epoch, epoch.taken, until)
            if left > 0.0:
                return TakenRequest(message, epoch, epoch.taken, until, wants_reply)
        return None

    def _open(self, epoch: Epoch, count: int, until: float) -> None:
        epoch.open[count] = until
        if self._alarm is None and until < inf:
            self._alarm = self._context.later(until + GRACE - self._context.now, self._ring)

    def take_batch(self) -> tuple[Batch, Callable[[], None]] | None:
        """Begin the next messages that arrived together, and return them with the function that settles them.

        Return None if there are none now.
        """
        epoch = self._epoch
        if epoch is None or not self._waiting or not self._line.is_up:
            return None
        batch = self._waiting.popleft()[1]
        first, epoch.taken = epoch.taken + 1, epoch.taken + len(batch)
        last = epoch.taken

        def settle() -> None:
            if epoch is self._epoch:
                epoch.out -= last - first + 1
                self._done += range(first, last + 1)
                self._plan()

        return batch, settle

    def _ring(self) -> None:
        """Settle the requests whose time is over, so that others can be received."""
        self._alarm = None
        self._settle_dropped()
        epoch = self._epoch
        if epoch is None:
            return
        past, ends = self._context.now - GRACE, epoch.open
        for count in [count for count, until in ends.items() if until <= past]:
            del ends[count]
            self._settled(epoch, count)
        first = min(ends.values(), default=inf)
        if first < inf:
            # Rounding may make the deadline come up early, so the alarm never fires immediately.
            self._alarm = self._context.later(max(first - past, SOON), self._ring)

    # --- settling ---------------------------------------------------------------------------------------

    def is_open(self, taken: TakenRequest) -> bool:
        """Return whether a reply can still be sent: same epoch, not settled, deadline not passed."""
        is_there = taken.epoch is self._epoch and self._line.is_up
        return is_there and taken.count in taken.epoch.open and self._context.now < taken.until

    def settle(self, taken: TakenRequest) -> None:
        """Settle a message without a reply. The caller must not settle a message twice.

        A message of an earlier epoch is ignored.
        """
        if taken.epoch is self._epoch:
            taken.epoch.open.pop(taken.count, None)
            self._settled(taken.epoch, taken.count)

    def _settle_dropped(self) -> None:
        epoch = self._epoch
        while epoch is not None and epoch.dropped:
            count = epoch.dropped.popleft()
            if epoch.open.pop(count, None) is not None:
                self._settled(epoch, count)

    def _settled(self, epoch: Epoch, count: int) -> None:
        epoch.out -= 1
        self._done.append(count)
        self._plan()

    def settle_reply(self, taken: TakenRequest, content: bytes, props: bytes = b"") -> bool:
        """Settle a request with its reply; return False if the sender no longer waits."""
        if not self.is_open(taken):
            return False
        epoch = taken.epoch
        del epoch.open[taken.count]
        epoch.out -= 1
        self._replies.append((taken.count, props, content))
        self._plan()
        return True

    def _plan(self) -> None:
        if not self._is_planned:
            self._context.soon(self.flush)
            self._is_planned = True

    def flush(self) -> None:
        """Send the settlements and replies that are pending, usually in one command."""
        self._is_planned = False
        if self._epoch is None:
            return
        number, epoch = self.number, self._epoch.number
        done, self._done = as_ranges(self._done), []
        replies, self._replies = self._replies, []
        while replies:
            builder = Builder(SENDS, REPLY, "", 1)
            for _count, props, content in replies:
                builder.add("", content, props, 0)
                if builder.full:
                    break
            some, replies = replies[: len(builder.slices)], replies[len(builder.slices) :]
            envelope = builder.seal(self._stream)
            counts = tuple([count for count, _, _ in some])
            self._line.send_command(
                Settle(number, epoch, done, counts, (body_frames(envelope),)), (envelope,)
            )
            done = ()
        if done:
            self._line.send_command(Settle(number, epoch, done))
