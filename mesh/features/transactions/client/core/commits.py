"""The COMMITs of a client that are not answered, over reconnects."""

# Law 1: a transaction gets its numbers when it is handed to the connection. Earlier messages have lower ones.
# Law 2: after a reconnect to its node, an unanswered COMMIT is repeated byte for byte, after all that was
#   sent before it, and before all that was sent after it. Its messages are never resent as publishes.
# Law 3: another node knows nothing of it: its outcome is in doubt, and its numbers are never used again.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

import msgspec
from msgspec import Struct

from mesh.client.core.cautious_resend import Bundle, Unit
from mesh.client.core.client_context import ClientContext, Promise
from mesh.client.core.delivered_envelope import HERE, SAID, Some
from mesh.client.core.envelope_sender import EnvelopeSender
from mesh.client.core.node_connection import NodeConnection
from mesh.client.core.publisher import Publisher
from mesh.errors import InDoubt, MeshError, RemoteError, TransactionRefused
from mesh.features.transactions.wire import Commit, Settled
from mesh.wire.commands import Answer, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.limits import TRANSACTIONS_OPEN
from mesh.wire.packed import PackedEnvelopes

REQUESTS = 2**40  # added to the number of a transaction, apart from all other requests
_EnvelopeAnswers = list[tuple[str, int, str]]  # state, matched, text


class DeliveryHolder(Protocol):
    """The settlements of one consumer."""

    def hold(self, some: Some) -> None:
        """Keep messages that a transaction settles, so that they are listed after a reconnect."""

    def release(self, some: Some) -> None:
        """Keep messages no longer, as their transaction is answered."""


HeldDelivery = tuple[DeliveryHolder, Some]


class OpenCommit(Struct, eq=False):
    """A transaction without an answer. The promise resolves with the answer to each envelope."""

    owner: ClientCommits
    number: int
    settles: tuple[Settled, ...]
    held: Sequence[HeldDelivery]  # settled by it
    envelopes: list[Envelope]
    before: dict[str, int]  # by domain: the numbers below were used before
    node: bytes  # uuid of its node
    promise: Promise
    sent_on: int = 0  # the connection on which it was sent last

    @property
    def is_answered(self) -> bool:
        return not self.owner.is_open(self.number)

    def send(self) -> None:
        self.owner.send(self)


class ClientCommits:
    """The transactions of one session."""

    def __init__(
        self, context: ClientContext, line: NodeConnection, publisher: Publisher, sender: EnvelopeSender
    ) -> None:
        self._context, self._line, self._outbox = context, line, publisher.outbox
        self._publisher, self._sender = publisher, sender
        self._open: dict[int, OpenCommit] = {}  # by number, in order
        self._count = 0
        self.closed: MeshError | None = None
        self.before_resend: Callable[[], None] = lambda: None  # makes the deliveries known to the node

    def __len__(self) -> int:
        return len(self._open)

    def is_open(self, number: int) -> bool:
        return number in self._open

    @property
    def has_room(self) -> bool:
        """True if another transaction may be handed over."""
        return self._outbox.open and self._count + 1 < self._low + TRANSACTIONS_OPEN

    @property
    def _low(self) -> int:
        return next(iter(self._open), self._count + 1)

    def hand_over(
        self, settles: Sequence[Settled], held: Sequence[HeldDelivery], envelopes: Iterable[Envelope]
    ) -> OpenCommit:
        """Give a transaction its numbers, and send it if there is a connection. Raises: error of `close`."""
        if self.closed is not None:
            raise self.closed
        self._publisher.accumulator.seal()
        before = self._outbox.marks()
        numbered = [self._outbox.add(envelope) for envelope in envelopes]
        self._count += 1
        node, promise = self._line.handshake.node, self._context.promise()
        it = OpenCommit(self, self._count, tuple(settles), held, numbered, before, node, promise)
        self._open[it.number] = it
        for holder, (delivered, places) in held:
            for place in places:
                delivered.states[place] = SAID
            holder.hold((delivered, places))
        self._sender.send_bundle(it)
        return it

    def send(self, it: OpenCommit) -> None:
        if not self._line.is_up or it.sent_on == self._line.key:
            return
        packed = PackedEnvelopes(it.envelopes)
        command = Commit(REQUESTS + it.number, it.number, self._low, settles=it.settles, sizes=packed.sizes)
        envelopes = cast("tuple[Envelope, ...]", (packed,) if it.envelopes else ())
        if self._line.send_command(command, envelopes):
            it.sent_on = self._line.key

    # --- reconnects -------------------------------------------------------------------------------------

    def on_welcome(self) -> None:
        """Give up the transactions of another node, whose outcome this node does not know."""
        here = self._line.handshake.node
        for it in [it for it in self._open.values() if it.node not in (here, b"")]:
            text = "The session moved to another node before the transaction was answered."
            error = InDoubt(text, hint="Its operations may have happened. Look before repeating them.")
            self._end(it, [_refusal(e, error) for e in it.envelopes], error, is_settled=True)
        for it in self._open.values():
            it.node = here

    def resend_all(self) -> None:
        """Send everything that is unanswered after a reconnect, in the order in which it was first sent."""
        if not self._open:
            self._sender.resend(self.plain())
            return
        self.before_resend()
        units, left = list[Unit](), list(self.plain())
        for it in self._open.values():
            units += [*(e for e in left if e.first < it.before.get(e.domain, 1)), it]
            left = [e for e in left if e.first >= it.before.get(e.domain, 1)]
        self._sender.resend([*units, *left])

    def plain(self) -> Iterable[Envelope]:
        """Return the envelopes without a final answer that are not part of an unanswered transaction."""
        if not self._open:
            return self._outbox.resend()
        ours = {(e.domain, e.first) for it in self._open.values() for e in it.envelopes}
        return [e for e in self._outbox.resend() if (e.domain, e.first) not in ours]

    # --- answers ----------------------------------------------------------------------------------------

    def on_reply(self, reply: Reply) -> None:
        """Handle the answer to a COMMIT. Raises: RemoteError for a bad one."""
        it = self._open.get(reply.request - REQUESTS)
        if it is None:
            return
        if reply.code:
            text = reply.text.removesuffix(f" [{reply.code}]")
            error = TransactionRefused(text, code=reply.code)
            error.operation = reply.value if isinstance(reply.value, int) else -1
            self._end(it, [_refusal(e, error) for e in it.envelopes], error, is_settled=False)
        else:
            self._end(it, _read_answers(it, reply.value), None, is_settled=True)

    def refuse(self, bundle: Bundle, code: str, text: str) -> None:
        """Refuse a transaction, as the node hangs up because of it."""
        it = next(each for each in self._open.values() if each is bundle)
        error = TransactionRefused(text, code=code)
        self._end(it, [_refusal(e, error) for e in it.envelopes], error, is_settled=False)

    def _end(self, it: OpenCommit, answers: list[Answer], error: MeshError | None, is_settled: bool) -> None:
        del self._open[it.number]
        if self._sender.caution.is_on:
            self._sender.send_next()
        for holder, (delivered, places) in it.held:
            for place in () if is_settled else places:
                delivered.states[place] = HERE
            holder.release((delivered, places))
        for answer in answers:
            self._publisher.verdicts.record_reported(answer)
            self._publisher.on_answer(answer)
        if it.promise.done():
            return
        if error is None:
            it.promise.set_result(answers)
        else:
            it.promise.set_exception(error)

    def close(self, error: MeshError) -> None:
        """Fail all transactions, whose outcome is in doubt, because the client is closed."""
        self.closed = error
        for it in list(self._open.values()):
            text = "The client was closed before the transaction was answered."
            doubt = InDoubt(text, hint="Its operations may have happened. Look before repeating them.")
            del self._open[it.number]
            if not it.promise.done():
                it.promise.set_exception(doubt)


def _refusal(e: Envelope, error: MeshError) -> Answer:
    return Answer(e.domain, e.first, e.last, error.code, text=error.what)


def _read_answers(it: OpenCommit, value: object) -> list[Answer]:
    try:
        found = msgspec.convert(value, _EnvelopeAnswers)
    except msgspec.ValidationError as error:
        raise RemoteError(f"a transaction has an invalid answer: {error}", code="MALFORMED") from error
    if len(found) != len(it.envelopes):
        what = f"a transaction with {len(it.envelopes)} envelopes has {len(found)} answers"
        raise RemoteError(what, code="MALFORMED")
    pairs: Iterable[tuple[Envelope, tuple[str, int, str]]] = zip(it.envelopes, found, strict=True)
    return [Answer(e.domain, e.first, e.last, *each) for e, each in pairs]
