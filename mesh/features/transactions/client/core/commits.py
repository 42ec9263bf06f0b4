"""The COMMITs of a client that are not answered, over reconnects."""

# Law 1: a transaction gets its numbers when it is handed to the connection. Earlier messages have lower ones.
# Law 2: after a reconnect to its node, an unanswered COMMIT is repeated byte for byte, after all that was
#   sent before it, and before all that was sent after it. Its messages are never resent as publishes.
# Law 3: another node knows nothing of it, so that node asks its former node for the outcome. Until then its
#   messages keep `low` of their domains down.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import cast

import msgspec

from mesh.client.core.calls import Calls
from mesh.client.core.cautious_resend import Bundle, Unit
from mesh.client.core.client_context import ClientContext, Promise
from mesh.client.core.delivered_envelope import HERE, SAID
from mesh.client.core.envelope_sender import EnvelopeSender
from mesh.client.core.publisher import Publisher
from mesh.client.core.visits import ClientVisits
from mesh.errors import InDoubt, MeshError, RemoteError, TransactionRefused
from mesh.features.transactions.client.core.doubts import Doubts
from mesh.features.transactions.client.core.open_commit import (
    Ended,
    HeldDelivery,
    OpenCommit,
    held_back,
    in_order,
    is_held,
    resolve,
)
from mesh.features.transactions.wire import COMMIT, PREPARE, Commit, Settled
from mesh.wire.commands import Answer, Certificate, Reply
from mesh.wire.envelope import Envelope
from mesh.wire.limits import TRANSACTION_BYTES, TRANSACTIONS, TRANSACTIONS_OPEN
from mesh.wire.packed import PackedEnvelopes
from mesh.wire.replies import TxOutcome

REQUESTS = 2**40  # added to the number of a transaction, apart from all other requests
_EnvelopeAnswers = list[tuple[str, int, str]]  # state, matched, text


class ClientCommits:
    """The transactions of one session.

    `before_resend()` makes the deliveries known to the node.
    """

    def __init__(
        self,
        context: ClientContext,
        publisher: Publisher,
        sender: EnvelopeSender,
        calls: Calls,
        visits: ClientVisits,
        before_resend: Callable[[], None],
    ) -> None:
        self._context, self._line, self._outbox = context, sender.line, publisher.outbox
        self._before_resend = before_resend
        calls.others = self.on_reply
        self._publisher, self._sender, self._visits = publisher, sender, visits
        self._open: dict[int, OpenCommit] = {}  # by number, in order
        self._count = 0
        self._doubts = Doubts(context, calls, self._on_outcome)
        self.closed: MeshError | None = None
        self.max_bytes: int = TRANSACTION_BYTES

    def __len__(self) -> int:
        return len(self._open)

    @property
    def has_room(self) -> bool:
        """True if another transaction may be handed over."""
        low = self._low(self._line.handshake.node)
        return self._outbox.open and self._count + 1 < low + TRANSACTIONS_OPEN

    def _low(self, node: bytes) -> int:
        """Return the number below which all transactions at the node are answered."""
        ours = (number for number, it in self._open.items() if it.node in (node, b""))
        return next(ours, self._count + 1)

    def hand_over(
        self,
        settles: Sequence[Settled],
        held: Sequence[HeldDelivery],
        envelopes: Iterable[Envelope],
        name: str = "",
    ) -> OpenCommit:
        """Give a transaction its numbers, and send it if there is a connection; with a `name`, prepare it.

        Raises: error of `close`.
        """
        if self.closed is not None:
            raise self.closed
        self._publisher.accumulator.seal()
        before = self._outbox.marks()
        numbered = [self._outbox.add(envelope) for envelope in envelopes]
        self._count += 1
        it = OpenCommit(self._count, tuple(settles), held, numbered, before, self._send)
        it.node, it.site, it.name = self._line.handshake.node, self._line.handshake.site, name
        it.promises.append(self._context.promise())
        self._open[it.number] = it
        for holder, (delivered, places) in held:
            for place in places:
                delivered.states[place] = SAID
            holder.hold((delivered, places))
        if self._sender.held:
            self._sender.held = held_back(self._open.values())
        if not is_held(it, self._sender.held):
            self._sender.send_unit(it)
        return it

    def _send(self, it: OpenCommit) -> None:
        if not self._line.is_up or it.sent_on == self._line.key:
            return
        packed, low = PackedEnvelopes(it.envelopes), self._low(it.node)
        phase = PREPARE if it.name else COMMIT
        request = REQUESTS + it.number
        command = Commit(request, it.number, low, phase, it.settles, packed.sizes, it.name)
        envelopes = cast("tuple[Envelope, ...]", (packed,) if it.envelopes else ())
        if self._line.send_command(command, envelopes):
            it.sent_on = self._line.key

    # --- reconnects -------------------------------------------------------------------------------------

    def on_welcome(self, most_bytes: int) -> None:
        """Adopt the limit of the node (0: the default), and ask for outcomes at former nodes."""
        self.max_bytes = most_bytes or TRANSACTION_BYTES
        here, site = self._line.handshake.node, self._line.handshake.site
        self._doubts.drop_questions()
        for it in list(self._open.values()):
            if not it.sent_on:
                it.node, it.site = here, site
            it.is_doubtful |= it.node != here
            if it.is_doubtful and (it.site != site or self._certificate is None):
                self._on_outcome(it, None)
        self._sender.held = held_back(self._open.values())
        for it in list(self._open.values()):
            if it.is_doubtful and self._certificate is not None:
                self._doubts.ask(it, self._certificate, self._low(it.node))

    @property
    def _certificate(self) -> Certificate | None:
        """The proof that the session is at this node, or `None` if it has not moved here."""
        certificate = self._visits.certificate
        is_here = certificate is not None and certificate.node == self._line.handshake.node
        return certificate if is_here and TRANSACTIONS in self._line.words else None

    def resend_all(self) -> None:
        """Send everything that is unanswered after a reconnect, in the order in which it was first sent."""
        if not self._open:
            self._sender.resend(self.plain())
            return
        self._before_resend()
        self._sender.resend([unit for unit in self._units() if not is_held(unit, self._sender.held)])

    def _units(self) -> list[Unit]:
        return in_order((it for it in self._open.values() if not it.is_doubtful), self.plain())

    def plain(self) -> Iterable[Envelope]:
        """Return the envelopes without a final answer that are not part of an unanswered transaction."""
        if not self._open:
            return self._outbox.resend()
        ours = {(e.domain, e.first) for it in self._open.values() for e in it.envelopes}
        return [e for e in self._outbox.resend() if (e.domain, e.first) not in ours]

    # --- doubt ------------------------------------------------------------------------------------------

    def give_up(self, it: OpenCommit) -> None:
        """Let later messages go first, as the call has failed with InDoubt; still ask for the outcome."""
        it.is_awaited = False
        self._release()

    def when_ended(self, it: OpenCommit) -> Promise:
        """Return another promise for the answers of a transaction."""
        promise = self._context.promise()
        it.promises.append(promise)
        if it.ended is not None:
            resolve(promise, it.ended)
        return promise

    def _release(self) -> None:
        """Send the messages and transactions that no longer wait for an outcome."""
        before, self._sender.held = self._sender.held, held_back(self._open.values())
        if before != self._sender.held:
            for unit in self._units():
                if is_held(unit, before) and not is_held(unit, self._sender.held):
                    self._sender.send_unit(unit)

    def _on_outcome(self, it: OpenCommit, found: TxOutcome | None) -> None:
        """End a transaction by the outcome that its node returned; None: the outcome stays unknown."""
        if found is not None and found.code:
            self._refuse(it, found.code, found.text, found.index)
        elif found is not None and len(found.answers) == len(it.envelopes):
            self._end(it, _answers(it, found.answers), is_settled=True)
        else:
            text = "The session moved to another node, which does not know whether the transaction happened."
            error = InDoubt(text, hint="Look for its effects before you repeat it.")
            self._end(it, error, is_settled=True)

    # --- answers ----------------------------------------------------------------------------------------

    def on_reply(self, reply: Reply) -> None:
        """Handle the answer to a COMMIT. Raises: RemoteError for a bad one."""
        it = self._open.get(reply.request - REQUESTS)
        if it is None or it.is_doubtful:
            return
        if reply.code:
            index = reply.value if isinstance(reply.value, int) else -1
            self._refuse(it, reply.code, reply.text, index)
        else:
            self._end(it, _read_answers(it, reply.value), is_settled=True)

    def refuse(self, bundle: Bundle, code: str, text: str) -> None:
        """Refuse a transaction, as the node hangs up because of it."""
        it = next(each for each in self._open.values() if each is bundle)
        self._refuse(it, code, text, -1)

    def _refuse(self, it: OpenCommit, code: str, text: str, index: int) -> None:
        error = TransactionRefused(text.removesuffix(f" [{code}]"), code=code)
        error.operation = index
        self._end(it, error, is_settled=False)

    def _end(self, it: OpenCommit, ended: Ended, is_settled: bool) -> None:
        del self._open[it.number]
        for holder, (delivered, places) in it.held:
            for place in () if is_settled else places:
                delivered.states[place] = HERE
            holder.release((delivered, places), is_done=not isinstance(ended, MeshError))
        answers = [_refusal(e, ended) for e in it.envelopes] if isinstance(ended, MeshError) else ended
        for answer in answers:
            self._publisher.verdicts.record_reported(answer)
            self._publisher.on_answer(answer)
        it.end(ended)
        self._release()
        if self._sender.caution.is_on:
            self._sender.send_next()

    def close(self, error: MeshError) -> None:
        """Fail all transactions, whose outcome is in doubt, because the client is closed."""
        self.closed = error
        for it in list(self._open.values()):
            text = "The client was closed before the transaction was answered."
            del self._open[it.number]
            it.end(InDoubt(text, hint="Look for its effects before you repeat it."))


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
    return _answers(it, found)


def _answers(it: OpenCommit, found: _EnvelopeAnswers) -> list[Answer]:
    pairs: Iterable[tuple[Envelope, tuple[str, int, str]]] = zip(it.envelopes, found, strict=True)
    return [Answer(e.domain, e.first, e.last, *each) for e, each in pairs]
