"""The table of refusals of published messages, except refusals of a stream, which are in ingress.py."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from mesh.errors import BadArgument, BadName, PublishRefused, RemoteError
from mesh.kernel.context.conn import ONLY_READS
from mesh.names import PUTS, QUEUE, SENDS, kind_of
from mesh.reserved import of_queue
from mesh.routing.verdict import refusal
from mesh.values import check_text
from mesh.wire.commands import Answer
from mesh.wire.envelope import EVERY, LOCAL_ONLY, PERSISTENT, REQUEST, RESENT, Envelope
from mesh.wire.limits import PUT_GROUP

# Law 1: the first row of REFUSALS that applies decides.
# Law 2: an envelope for a topic or a client is refused only if its publisher may not write, or by Law 3.
#        Queue terms on such an envelope break the protocol.
# Law 3: a queue accepts only messages in its own domain, and that domain accepts no other messages.

ODD_IN_SENDS = ~(LOCAL_ONLY | REQUEST | EVERY | RESENT)  # flags that no message to an address has

ODD_IN_PUTS = ~(PERSISTENT | RESENT)


class Attempt(NamedTuple):
    """An envelope that a client publishes. `kinds` are the kinds of addresses that accept messages."""

    envelope: Envelope
    client: str
    may_write: bool
    kinds: Container[str]

    @property
    def is_send(self) -> bool:
        """True if the envelope is a message to an address."""
        return self.envelope.domain == SENDS

    @property
    def is_put(self) -> bool:
        """True if the envelope is a message to a queue."""
        return not self.is_send and kind_of(self.envelope.to) == QUEUE

    @property
    def is_other(self) -> bool:
        return not self.is_send and not self.is_put


class Refusal(NamedTuple):
    """A row of `REFUSALS`: `answer` returns the refusal of an attempt to which the row `applies`.

    For an envelope that no correct client sends, `answer` raises RemoteError.
    """

    applies: Callable[[Attempt], object]
    answer: Callable[[Attempt], Answer]
    is_counted: bool = False  # in the metric of refused messages


def _only_reads(a: Attempt) -> Answer:
    e = a.envelope
    return Answer(e.domain, e.first, e.last, "NOT_ALLOWED", text=ONLY_READS)


def _no_address(a: Attempt) -> Answer:
    text = f"Messages in domain {SENDS!r} must go to an address, and {a.envelope.to[:80]!r} is not one."
    return refusal(a.envelope, PublishRefused(text, code="BAD_NAME"))


def _kept_send(a: Attempt) -> Answer:
    text = "A message to an address can be neither persistent nor queued."
    return refusal(a.envelope, PublishRefused(text, code="BAD_ARGUMENT"))


def _terms_elsewhere(a: Attempt) -> Answer:
    text = f"{a.client} sent queue terms with a message to {a.envelope.to[:80]!r}"
    raise RemoteError(text, code="MALFORMED")


def _other_domain(a: Attempt) -> Answer:
    text = f"A message to {a.envelope.to[:80]!r} must have this name as its domain."
    return refusal(a.envelope, BadName(text))


def _odd_put(a: Attempt) -> Answer:
    text = (
        f"The message to {a.envelope.to[:80]!r} has a flag other than persistent, which queues do not accept."
    )
    return refusal(a.envelope, BadArgument(text))


def _bad_group(e: Envelope) -> BadArgument | None:
    try:
        if e.put:
            check_text(e.put[2], "group", PUT_GROUP, BadArgument)
    except BadArgument as error:
        return error
    return None


def _refuse_group(a: Attempt) -> Answer:
    error = _bad_group(a.envelope)
    assert error is not None
    return refusal(a.envelope, error)


REFUSALS = (
    Refusal(lambda a: not a.may_write, _only_reads),
    Refusal(lambda a: a.is_send and kind_of(a.envelope.to) not in a.kinds, _no_address),
    Refusal(lambda a: a.is_send and a.envelope.flags & ODD_IN_SENDS, _kept_send),
    Refusal(lambda a: a.is_other and a.envelope.put, _terms_elsewhere),
    Refusal(
        lambda a: a.is_other and a.envelope.domain.startswith(PUTS),
        lambda a: refusal(a.envelope, of_queue(a.envelope.domain)),
        is_counted=True,
    ),
    Refusal(lambda a: a.is_put and a.envelope.to != a.envelope.domain, _other_domain, is_counted=True),
    Refusal(lambda a: a.is_put and a.envelope.flags & ODD_IN_PUTS, _odd_put, is_counted=True),
    Refusal(lambda a: a.is_put and _bad_group(a.envelope), _refuse_group, is_counted=True),
)


def is_well_addressed(e: Envelope) -> bool:
    """Return whether certainly no row applies to an envelope of a client that may write.

    This check is cheaper than the table. The result may be False even if no row applies.
    """
    if e.to[:6] == PUTS:
        return e.to == e.domain and not e.flags & ODD_IN_PUTS and not (e.put and e.put[2])
    return not e.put and e.domain != SENDS and e.domain[:6] != PUTS


def refusal_of(attempt: Attempt) -> Refusal | None:
    return next((row for row in REFUSALS if row.applies(attempt)), None)
