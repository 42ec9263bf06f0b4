"""Accepts or refuses the messages that clients publish."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from mesh.errors import BadArgument, MeshError, RemoteError
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.forwarding.forwarder import Forwarder
from mesh.kernel.subscribers.held_streams import HeldStreams
from mesh.kernel.subscribers.ingress import Ingress
from mesh.kernel.subscribers.publish_refusals import ODD_IN_SENDS, Attempt, is_well_addressed, refusal_of
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import CLIENT, PUTS, SENDS, kind_of
from mesh.printable import count
from mesh.routing.verdict import refusal
from mesh.wire.commands import Answer, Publish
from mesh.wire.envelope import FORCE_QUEUING, LOCAL_ONLY, NO_RELAY, ONE_SESSION, PERSISTENT, RESENT, Envelope

# Law 1: an envelope that no correct client sends ends the connection.
# Law 2: each other envelope gets one refusal, or is passed on once, to its address or towards its master.
# Law 3: an envelope that opens a stream is checked before it is counted in the message accounts.

# Flags that a client must not set. In the domain SENDS, REQUEST and EVERY are allowed.
ODD = ~(PERSISTENT | LOCAL_ONLY | FORCE_QUEUING | NO_RELAY | RESENT)
LOOK = 60.0  # s between two sweeps


class Publishing(Component):
    """Component that accepts the messages of clients."""

    def __init__(self, context: NodeContext, sessions: Sessions, forwarder: Forwarder) -> None:
        self._context = context
        self._sessions = sessions
        self._forwarder = forwarder
        self._ingress = Ingress(context)
        self._looked = 0.0
        self.forget_session = self._ingress.forget_session
        self.held = HeldStreams(self._on_rejected)

    def from_clients(self) -> Sequence[HandlerEntry]:
        return (on_command(Publish, self.publish),)

    def tick(self) -> None:
        if self._context.clock.now - self._looked > LOOK:
            self._looked = self._context.clock.now
            self._ingress.forget_old(self._sessions.by_stream)

    def publish(self, conn: Conn, session: Session, command: Publish, envelopes: list[Envelope]) -> None:
        """Accept or refuse the envelopes of a session. Raises: RemoteError if they break the protocol."""
        if self.held and self.held.defer(
            conn, session.stream, partial(self.publish, conn, session, command, envelopes), envelopes
        ):
            return
        may_write = conn.may_write
        if command.ttls and len(command.ttls) != len(envelopes):
            limits = f"{count(len(command.ttls), 'time limit')} for {count(len(envelopes), 'envelope')}"
            raise RemoteError(f"{session.name} sent a PUBLISH with {limits}", code="MALFORMED")
        sent, free = session.sent, self._ingress.free
        for e in envelopes:
            is_own = e.stream == session.stream and not (e.numbers or e.sender or e.route or e.sent)
            domain = e.domain
            is_odd = e.flags & ODD and (domain != SENDS or e.flags & ODD_IN_SENDS)
            if not is_own or (is_odd and not _is_for_one(e)):
                is_of_other = e.stream != session.stream
                what = (
                    "a stream that is not its own"
                    if is_of_other
                    else "fields or flags that clients must not set"
                )
                raise RemoteError(f"{session.name} publishes with {what}", code="FORGED_SENDER")
            if not (domain in sent and e.first > sent[domain] and free.issuperset(e.keys)):
                refused = self._ingress.refuses(session, e)
                if refused is not None:  # not counted in the accounts, which keep a row for each domain
                    self._context.counters.add_count("refused", e.count)
                    self._sessions.owe(session, refusal(e, refused))
                    continue
            sent[domain] = e.last
            self._context.counters.accounts.count_published(e)
            if domain == SENDS and may_write:
                self._send(session, e, _ttl(command, envelopes, e))
                continue
            if (
                not may_write
                or ((e.to or e.put or (domain and domain[:6] == PUTS)) and not is_well_addressed(e))
            ) and self._is_refused(session, e, may_write):
                continue
            self._forwarder.publish(replace(e, sender=session.text), session.is_again(e))

    def _on_rejected(self, conn: Conn, error: MeshError) -> None:
        """Close a connection because of a command that waited."""
        session = self._sessions.session_of(conn)
        self._context.broke_protocol(conn, session.text if session else "a stranger", None, error)

    def check_together(
        self, conn: Conn, session: Session, envelopes: Sequence[Envelope]
    ) -> dict[int, Answer]:
        """Return the refusals of the envelopes of a transaction by index; one refuses the whole transaction.

        Raises: RemoteError if they break the protocol.
        """
        refusals = dict[int, Answer]()
        for i, e in enumerate(envelopes):
            if e.stream != session.stream or e.numbers or e.sender or e.route or e.sent or e.flags & ODD:
                what = "another stream, or fields or flags that clients must not set"
                raise RemoteError(f"{session.name} commits messages with {what}", code="FORGED_SENDER")
            refused = self._ingress.refuses(session, e)
            session.sent[e.domain] = e.last
            attempt = Attempt(e, str(session.name), conn.may_write, self._context.face.destination_handlers)
            if refused is None and e.domain == SENDS:
                text = "A transaction cannot send messages to addresses."
                refused = BadArgument(text, hint="Put a message into a queue instead.")
            if refused is not None:
                refusals[i] = refusal(e, refused)
            elif (found := refusal_of(attempt)) is not None:
                refusals[i] = found.answer(attempt)
        return refusals

    def publish_again(self, session: Session, e: Envelope) -> None:
        """Process an envelope of a committed transaction as a resent one."""
        self._forwarder.publish(replace(e, sender=session.text), was_sent=True)

    def _is_refused(self, session: Session, e: Envelope, may_write: bool) -> bool:
        """Refuse an envelope if a row of `REFUSALS` applies, and return whether one does."""
        kinds = self._context.face.destination_handlers
        attempt = Attempt(e, str(session.name), may_write, kinds)
        found = refusal_of(attempt)
        if found is None:
            return False
        answer = found.answer(attempt)
        if found.is_counted:
            self._context.counters.add_count("refused", e.count)
        self._sessions.answer_client(session.stream, answer)
        return True

    def _send(self, session: Session, e: Envelope, ttl: int) -> None:
        send = self._context.face.destination_handlers.get(kind_of(e.to))
        if send is None or e.flags & ODD_IN_SENDS:
            self._is_refused(session, e, may_write=True)
        else:
            send(session, replace(e, sender=session.text), ttl)


def _is_for_one(e: Envelope) -> bool:
    """Return whether the only odd flag of an envelope is ONE_SESSION, which is allowed for a client."""
    return e.flags & ODD == ONE_SESSION and kind_of(e.to) == CLIENT


def _ttl(command: Publish, envelopes: Sequence[Envelope], envelope: Envelope) -> int:
    """Return the time limit of an envelope in ms, or 0 if it has none."""
    return next((ttl for ttl, e in zip(command.ttls, envelopes, strict=False) if e is envelope), 0)
