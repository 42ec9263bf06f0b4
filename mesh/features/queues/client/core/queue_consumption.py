"""A consumer of one queue across reconnects: its messages and their settlements."""

# Law 1: the k-th message of an epoch has the delivery tag k. Messages kept from an earlier epoch come first:
#        they have the tags 1 to n, in the order in which CONSUME listed them, and are not sent again.
# Law 2: a message that arrives while no epoch is open belongs to an older one.
# Law 3: a message is settled once.
# Law 4: a message that the node reported as reassigned is not begun.
# Law 5: the leases of waiting messages are extended; a user's lease starts when the message is begun.
# Law 6: a message stays with the node that delivered it; another node is asked to settle it there.
# Law 7: after a standstill as long as the lease, no message is begun before the node confirms it, because
#        another consumer may have it by then.

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.client.core.calls import Calls
from mesh.client.core.client_context import Alarm, ClientContext, Promise
from mesh.client.core.delivered_envelope import (
    GONE,
    HERE,
    SAID,
    DeliveredEnvelope,
    EnvelopePlace,
    Settlement,
    Some,
    fitting,
    listed,
    reassigned_tags,
)
from mesh.client.core.node_connection import NodeConnection
from mesh.client.message import Message
from mesh.errors import LeaseOver, LocalError, MeshError, RemoteError
from mesh.features.queues.client.core.consumer_inbox import ConsumerInbox
from mesh.features.queues.client.core.settling import Settling
from mesh.wire.commands import EXTEND, Consume, ItemHead
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_MESSAGES, VISITS
from mesh.wire.replies import Opened, read_result


class QueueConsumption:
    """A consumer of one queue. `stirred` is called when a message may be available, and at the end."""

    number: int
    address: str
    credit: int

    def __init__(
        self,
        context: ClientContext,
        line: NodeConnection,
        calls: Calls,
        number: int,
        address: str,
        credit: int,
        selector: str,
        lease: int,
    ) -> None:
        """Set up the consumer, without an epoch. `lease` in ms; 0: none."""
        self.number, self.address, self.credit = number, address, credit
        self.is_asked: bool = False  # CONSUME is not answered yet
        self.is_leaving: bool = False
        self.error: MeshError | None = None  # reason of the end
        self.stirred: Callable[[], None] = _nobody
        self.reopen: Callable[[], None] = _nobody  # requests another epoch on this connection
        self._inbox = ConsumerInbox(lease)
        self.settling: Settling = Settling(context, line, calls, number, self._inbox.update)
        self._selector, self._lease = selector, lease
        self._context, self._line = context, line
        self._epoch = -1  # -1: none is open
        self._opening = 0
        self._given = 0  # last delivery tag received
        self._begun = 0  # last delivery tag begun
        self._listed: list[EnvelopePlace] = []  # messages listed by CONSUME
        self._boot = 0  # of the node, in this epoch
        self._boots: dict[DeliveredEnvelope, int] = {}  # of messages kept from earlier epochs
        self._alarm: Alarm | None = None
        self._looked = 0.0  # when the alarm was set

    # --- lifetime ---------------------------------------------------------------------------------------

    def asked_for(self, request: int) -> Consume:
        """Return the command that begins an epoch, and note the messages that it lists."""
        settled = self.settling.places()
        if self.is_leaving:
            self._listed = fitting([], settled, [])
        else:
            self._listed = self._inbox.listed(settled, self._context.now)
        self._begun = sum(delivered.begun > place for delivered, place in self._listed)
        # A consumer that leaves needs answers only, no new messages.
        credit = max(1, len(self._listed)) if self.is_leaving else self.credit
        held, held_at = listed(self._listed)
        has_visits = VISITS in self._line.words
        return Consume(
            request,
            self.number,
            self.address,
            credit,
            selector=self._selector,
            lease=self._lease,
            held=held,
            held_at=held_at if has_visits and {*held_at} != {self._line.handshake.node} else (),
        )

    def leave_command(self, request: int) -> Consume:
        return Consume(request, self.number, self.address, 0, begun=self._begun)

    def on_opened(self, value: object) -> None:
        """Begin the epoch, after the answer to CONSUME. Raises: RemoteError for a bad answer."""
        said = read_result(Opened, value)
        void = reassigned_tags(said.void, len(self._listed), self.address)
        if not 0 <= said.epoch < 2**63:
            raise RemoteError(
                f"{self.address}: the consumer was opened with the invalid epoch {said.epoch:.0f}",
                code="MALFORMED",
            )
        self.is_asked = False
        self._boots = {delivered: self.boot_of(delivered) for delivered, _ in self._listed}
        self._boot = self._line.handshake.boot
        self._epoch, self._opening, self._given = said.epoch, self._opening + 1, len(self._listed)
        self._inbox.retag(self._listed, void, self._opening, self._context.now)
        self._listed = []
        self.settling.start_epoch(self._epoch, self._opening)
        self._watch()
        self.stirred()

    def on_disconnected(self) -> None:
        """End the epoch with its connection. Unanswered settlements are sent again in the next epoch."""
        self._epoch, self.is_asked = -1, False
        self.settling.on_epoch_end()
        self._quiet()

    def lose_messages(self, why: str) -> None:
        """Give up all unsettled messages; their settlements fail."""
        self.settling.fail_all(LeaseOver(why))
        self._inbox.lose_all()

    def end(self, why: MeshError) -> None:
        """Drop all unsettled messages, and end with the error `why`.

        Settlements are still sent until they are answered.
        """
        self.settling.flush()
        self.is_leaving, self.error = True, self.error or why
        self._inbox.close()
        self._quiet()
        self.stirred()

    def fail_and_leave(self, error: MeshError) -> None:
        self.on_disconnected()
        self.settling.fail_all(error)
        self.end(error)

    # --- receiving --------------------------------------------------------------------------------------

    def on_item(self, head: ItemHead, envelope: Envelope, indices: Sequence[int] | None) -> None:
        """Add an item, or drop it without an open epoch, while the consumer leaves, or after a standstill.

        A small excess over the credit is accepted. Raises: RemoteError if the credit is exceeded by far.
        """
        if self._epoch < 0 or self.is_leaving or self._must_ask():
            return
        delivered = DeliveredEnvelope(
            envelope, indices, head.tries, self._opening, self._given + 1, self._line.handshake.node
        )
        self._given += len(delivered)
        if self._given - self._begun > self.credit + 2 * ENVELOPE_MESSAGES:
            what = f"{self.address}: far more messages arrived than the credit of {self.credit} allows"
            raise RemoteError(what)
        self._inbox.add(delivered, self._context.now)
        self._watch()
        self.stirred()

    @property
    def is_busy(self) -> bool:
        """True if the consumer has unsettled messages, or unanswered settlements."""
        return bool(self._inbox.envelopes or self.settling.owes)

    @property
    def _is_open(self) -> bool:
        return self._epoch >= 0 and self._line.is_up and self.error is None

    def take_message(self) -> tuple[DeliveredEnvelope, int, Message] | None:
        """Begin and return the next message; None if there is none now."""
        while self._is_open and self._inbox.waiting and not self._must_ask():
            delivered = self._inbox.waiting[0]
            if delivered.begun == len(delivered):
                self._inbox.waiting.popleft()
                continue
            place, message = delivered.begun, delivered.next()
            if delivered.states[place] == HERE:
                self._begin(delivered, [place])
                return delivered, place, message
        return None

    def take_batch(self) -> Some | None:
        """Begin and return the next messages that arrived together; None if there are none now."""
        while self._is_open and self._inbox.waiting and not self._must_ask():
            delivered = self._inbox.waiting.popleft()
            places = delivered.are(HERE, delivered.begun, len(delivered))
            delivered.begun = len(delivered)
            if places:
                self._begin(delivered, places)
                return delivered, places
        return None

    def _begin(self, delivered: DeliveredEnvelope, places: Sequence[int]) -> None:
        self._begun = max(self._begun, delivered.counts[places[-1]])
        if self._lease and self._context.now - delivered.since > self._lease / 10_000:
            delivered.until = max(delivered.until, self._context.now + self._lease / 1000)
            self.settling.queue_settlement(Settlement(EXTEND, [(delivered, places)], self._lease))

    # --- leases -----------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._alarm is None and self._lease and self._epoch >= 0:
            self._looked = self._context.now
            self._alarm = self._context.later(self._lease / 3000, self._ring)

    def _must_ask(self) -> bool:
        """Return whether this process stood still for as long as a lease; if so, request a new epoch."""
        if (
            not self._lease
            or self._epoch < 0
            or not stood_still(self._looked, self._context.now, self._lease)
        ):
            return False
        self._epoch = -1
        self.settling.on_epoch_end()
        self._quiet()
        self.reopen()
        return True

    def _quiet(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        """Extend the leases of messages that are not begun."""
        self._alarm = None
        if self._must_ask():
            return
        of = self._inbox.renew_waiting(self._context.now)
        if of and self._is_open:
            self.settling.queue_settlement(Settlement(EXTEND, of, self._lease))
        self._watch()

    # --- settling ---------------------------------------------------------------------------------------

    def boot_of(self, delivered: DeliveredEnvelope) -> int:
        """Return the boot of the node when it delivered the messages."""
        return self._boots.get(delivered, self._boot)

    def check_settleable(self, delivered: DeliveredEnvelope, place: int) -> None:
        """Raise LocalError SETTLED, LeaseOver or the consumer's own error if a message cannot be settled."""
        state = delivered.states[place]
        if state == SAID:
            hint = "A message is acked, nacked or rejected once, and can be extended only before that."
            raise LocalError(f"This message of {self.address} was settled before.", hint=hint, code="SETTLED")
        if self.error is not None:
            what = f"The consumer of {self.address} is closed; its unsettled messages returned to the queue."
            raise LeaseOver(what) if self.is_leaving and self.error.code == "CLOSED" else self.error
        if state == GONE or (self._epoch >= 0 and not delivered.tag_of(place, self._opening)):
            raise self.settling.lease_over("This message no longer belongs to this consumer.")

    def settle_messages(
        self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "", is_implicit: bool = False
    ) -> Promise:
        """Settle messages, or extend their leases to `delay` ms from now, after `check_settleable`.

        The promise resolves when the node has stored the settlement; see `Settlement` for `is_implicit`. The
        promise fails if the node could not store it, or if a message is no longer this consumer's.
        """
        said = Settlement(what, of, delay, reason, self._context.promise(), is_implicit=is_implicit)
        for delivered, places in of:
            if what == EXTEND:
                delivered.until = max(delivered.until, self._context.now + delay / 1000)
                continue
            for place in places:
                delivered.states[place] = SAID
            self._inbox.update(delivered)
        self.settling.queue_settlement(said)
        assert said.promise is not None
        return said.promise


def stood_still(looked: float, now: float, lease: int) -> bool:
    """Return whether the last check, at `looked` (s), was at least `lease` ms before `now`.

    Checks run three times per lease, so the process stood still, and the lease may be over.
    """
    return now - looked >= lease / 1000


def _nobody() -> None:
    """Do nothing: there is no reader yet."""
