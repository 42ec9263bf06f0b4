"""Sends the envelopes of published messages, in a form that the connected node can read."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec.structs import replace

from mesh.client.core.cautious_resend import CautiousResend, Unit
from mesh.client.core.client_context import ClientContext
from mesh.client.core.deadlines import Deadlines
from mesh.client.core.node_connection import NodeConnection
from mesh.names import PUTS, SENDS
from mesh.streams.outbox import Outbox
from mesh.wire import commands as c
from mesh.wire.envelope import NO_RELAY, RESENT, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import DURABLE, STAYS, VISITS


class Hold(Enum):
    """The messages that a client keeps for its next node, because it leaves the present one."""

    NOTHING = "nothing"
    REQUESTS = "requests"  # and other messages to addresses
    ALL = "all"


class EnvelopeSender:
    """The sending of a client's envelopes over its connections, for the lifetime of the client.

    Without a connection an envelope is not sent; `resend_all` sends the envelopes of `outbox` after the
    reconnect.
    """

    def __init__(self, context: ClientContext, line: NodeConnection, outbox: Outbox) -> None:
        self.line: NodeConnection = line
        self._context, self._outbox = context, outbox
        self.caution: CautiousResend[Unit] = CautiousResend(self._is_answered)
        self.deadlines: Deadlines = Deadlines()
        self.hold: Hold = Hold.NOTHING
        self.held: dict[str, int] = {}  # by domain: new envelopes from this number on wait
        self.elsewhere: dict[str, int] = {}  # by domain: highest number another node may have

    def on_moved(self) -> None:
        """Record a connection to another node or process: earlier ones may have the unanswered messages."""
        self.deadlines.on_moved()
        self.elsewhere = self._outbox.numbered()

    def mark_sent(self, domain: str, number: int) -> None:
        """Record that another client of the session may have sent the messages up to `number`."""
        self.elsewhere[domain] = max(number, self.elsewhere.get(domain, 0))

    def send_envelope(self, envelope: Envelope, until: float) -> None:
        """Send a new envelope, or append it if others must be answered first. `until` as in a Builder."""
        if until:
            self.deadlines.add(envelope.first, until, envelope.low)
        if self.held and envelope.first >= self.held.get(envelope.domain, envelope.last + 1):
            return
        if not self.caution.is_on or self.caution.add(envelope):
            self._send(envelope)

    def send_unit(self, unit: Unit) -> None:
        """Send an envelope or bundle, or append it if others must be answered first."""
        if not self.caution.is_on or self.caution.add(unit):
            self._send(unit)

    def resend(self, unanswered: Iterable[Unit]) -> None:
        """Send unanswered envelopes and bundles after a reconnect; while `caution` is on, only the first."""
        self._send_each(self.caution.begin_resend(unanswered))

    def send_next(self) -> None:
        """Send the envelopes and bundles that waited for an answer, while `caution` is on."""
        self._send_each(self.caution.next_after_answer())

    def _send_each(self, units: Iterable[Unit]) -> None:
        for unit in units:
            self._send(unit)

    def _send(self, envelope: Unit) -> None:
        if not isinstance(envelope, Envelope):
            if self.hold is not Hold.ALL:
                envelope.send()
            return
        if self.hold is not Hold.NOTHING and (self.hold is Hold.ALL or envelope.domain == SENDS):
            return
        if envelope.domain == SENDS:
            self._send_on(envelope)
        else:
            self.line.send_command(c.Publish((body_frames(envelope),)), (self._marked(envelope),))

    def _marked(self, envelope: Envelope) -> Envelope:
        """Return the envelope in a form that this node can read.

        A message is marked as resent if an earlier node or process may have it, and this node has the feature
        DURABLE, or VISITS for a message to a queue.
        """
        if envelope.flags & NO_RELAY and STAYS not in self.line.words:
            envelope = replace(envelope, flags=envelope.flags & ~NO_RELAY)
        domain, elsewhere = envelope.domain, self.elsewhere
        if not elsewhere or envelope.first > elsewhere.get(domain, 0):
            return envelope
        if (VISITS if domain.startswith(PUTS) else DURABLE) not in self.line.words:
            return envelope
        return replace(envelope, flags=envelope.flags | RESENT)

    def _send_on(self, envelope: Envelope) -> None:
        """Send an envelope to an address, with the ms until its deadline if it has one."""
        ttl = self.deadlines.ttl(envelope, self._context.now)
        command = c.Publish((body_frames(envelope),), (ttl,) if ttl else ())
        if self.line.send_command(command, (self.deadlines.marked(envelope),)):
            self.deadlines.record_sent(envelope)

    def _is_answered(self, envelope: Unit) -> bool:
        if not isinstance(envelope, Envelope):
            return envelope.is_answered
        return self._outbox.is_answered_below({envelope.domain: envelope.last + 1})
