"""Sends messages to addresses: to one consumer at any node, or to all; and receives the replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache

from msgspec.structs import replace

from mesh.errors import LocalError
from mesh.features.services.model.sent_requests import SentRequests
from mesh.features.services.node.groups import Groups
from mesh.features.services.node.open_requests import OpenRequests
from mesh.features.services.node.request_losses import RequestLosses
from mesh.features.services.node.request_outcomes import RequestOutcomes
from mesh.features.services.node.request_router import RequestRouter
from mesh.features.services.node.requester_replies import RequesterReplies
from mesh.features.services.node.service_stats import ServiceStats
from mesh.hops import site_of
from mesh.kernel.context.component import Component, HandleEnvelope, HandlerEntry, Share, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import Guest, GuestRequests
from mesh.kernel.peers.facts import LoggedOut, PeerLost
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.facts import RequestAnswered
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.subscribers.facts import SessionBack, SessionClosed, SessionCutOff
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import ADDRESS, OTHERS, SENDS, check_asked
from mesh.printable import count
from mesh.snapshots.outcomes import OutcomeCounts
from mesh.wire.calls import AskFared
from mesh.wire.commands import Answer, Respond, Sent
from mesh.wire.envelope import REQUEST, RESENT, Envelope
from mesh.wire.properties import check_properties
from mesh.wire.ttls import end_of

OPEN = 100_000  # open requests of one client

_known_address = lru_cache(256)(check_asked)  # clients repeat the same addresses


class Sending(Component):
    """Component that accepts messages to addresses from senders, and answers and replies from other nodes.

    The senders are clients here, and sessions of other sites for which this node is the gateway.
    """

    def __init__(
        self,
        context: NodeContext,
        sessions: Sessions,
        back: ReplyBatch,
        groups: Groups,
        router: RequestRouter,
        open_requests: OpenRequests,
        requester: RequesterReplies,
        outcomes: RequestOutcomes,
        losses: RequestLosses,
        faring: ServiceStats,
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._back = back
        self._groups = groups
        self._router = router
        self._open = open_requests
        self._requester = requester
        self._outcomes = outcomes
        self._losses = losses
        self._faring = faring

    def destination_handlers(self) -> Mapping[str, HandleEnvelope]:
        return {ADDRESS: self.send_requests}

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Sent, self._sent), on_command(Respond, self._responded))

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedOut, lambda fact: self._losses.on_node_lost(fact.peer.node.uuid)),
            on_fact(PeerLost, lambda fact: self._losses.on_node_lost(fact.peer.node.uuid)),
            on_fact(SessionBack, lambda fact: self._requester.arriving.resume(fact.session)),
            on_fact(RequestAnswered, lambda _: self._came_back()),
            on_fact(SessionClosed, lambda fact: self._losses.drop_session(fact.session.stream)),
            on_fact(SessionCutOff, lambda fact: self._losses.cut_off(fact.session.stream)),
        )

    def guest_requests(self) -> Mapping[str, GuestRequests]:
        return {SENDS: self}

    def service_outcomes(self, most: int) -> Sequence[tuple[str, str, OutcomeCounts]]:
        return self._faring.figures.busiest(most)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskFared, lambda asked: asked.reply(self._faring.by_address())),)

    def figures(self) -> dict[str, int | float]:
        return {
            "requests_open": sum(len(memory.asked) for memory in self._open.streams.values()),
            **self._faring.as_metrics(),
        }

    def holds_for_sessions(self) -> int:
        return sum(size for _, _, size in self.shares())

    def shares(self) -> Iterator[Share]:
        """Yield the requests of clients here that wait for answers or replies."""
        for stream, memory in self._open.streams.items():
            session = self._sessions.by_stream.get(stream)
            if session is not None:
                yield from ((session, e.body, len(e.body)) for e in memory.open_envelopes())

    # --- requests of clients ----------------------------------------------------------------------------

    def send_requests(self, session: Session, envelope: Envelope, ttl: int) -> None:
        """Send the messages of a client here.

        `ttl` is their remaining time in ms; 0 means no limit.
        """
        if envelope.to.startswith(OTHERS) and site_of(envelope.to) == self._context.settings.site.name:
            envelope = replace(envelope, to=envelope.to.split("/", 3)[3])
        self._send(session, envelope, ttl)

    def receive(self, guest: Guest, envelope: Envelope, ttl: int) -> None:
        """Send the messages of a session of another site; `ttl` is as in `send_requests`."""
        if guest.stream not in self._requester.guests:
            self._sessions.others[guest.stream] = guest.answer
            self._requester.guests[guest.stream] = guest.reply
        self._send(guest, envelope, ttl)

    def open_of(self, guest: Guest) -> tuple[Set[int], int]:
        """Return the numbers of the open messages of that session, and their bytes."""
        return self._open.open_numbers(guest.stream)

    def forget_guest(self, guest: Guest) -> None:
        """Forget a session of another site, with its open messages."""
        self._sessions.others.pop(guest.stream, None)
        self._requester.guests.pop(guest.stream, None)
        self._losses.drop_session(guest.stream)

    def _send(self, session: Session | Guest, envelope: Envelope, ttl: int) -> None:
        memory = self._open.memory(session.stream)
        until = end_of(ttl, self._context.clock.now)
        try:
            _known_address(envelope.to)
            if envelope.props:
                check_properties(envelope)
            self._check_room(session, memory, envelope)
        except LocalError as error:
            self._requester.refuse_all(memory, envelope, error.code, str(error))
            return
        if envelope.flags & REQUEST and isinstance(session, Session):
            self._requester.arriving.open_feed(session)
        for first, last, known in memory.sort(envelope, bool(envelope.flags & RESENT)):
            if known is not None:
                self._context.counters.add_count("repeated", last - first + 1)
                self._sessions.answer_client(session.stream, known)
                continue
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._router.choose_when_known(memory, envelope.part(first, last), until)

    def _check_room(self, session: Session | Guest, memory: SentRequests, envelope: Envelope) -> None:
        if envelope.flags & REQUEST and len(memory.asked) + envelope.count > OPEN:
            has, more = count(len(memory.asked), "request"), count(envelope.count, "more request")
            raise LocalError(
                f"{session.text} has {has} without a reply; {more} would exceed the limit of {OPEN:,}.",
                hint="Await some of the replies first.",
                code="TOO_MANY_REQUESTS",
            )

    # --- answers and replies ----------------------------------------------------------------------------

    def _sent(self, conn: Conn, peer: Peer, command: Sent, _: list[Envelope]) -> None:
        for outcome in command.outcomes:
            self._outcome(peer.node.uuid, outcome.stream, outcome.answer)

    def _outcome(self, uuid: bytes, stream: bytes, answer: Answer) -> None:
        (self._outcomes if answer.domain == SENDS else self._groups).outcome(uuid, stream, answer)

    def _responded(self, conn: Conn, peer: Peer, command: Respond, envelopes: list[Envelope]) -> None:
        for e in envelopes:
            theirs = ("/node/" + peer.node.name + "/client/", OTHERS)
            is_theirs = e.sender == "" or e.sender.startswith(theirs)
            is_theirs = is_theirs or self._context.visits.was_guest(e.sender, peer.node.uuid)
            if e.domain != SENDS or e.keys != ("",) or not is_theirs:
                self._context.counters.add_count("forged")
            else:
                self._outcomes.deliver_replies(peer.node.uuid, e)

    def _came_back(self) -> None:
        """Process the answers and replies that wait for senders at this node."""
        here = self._back.here
        while here:
            back = here.popleft()
            if isinstance(back, Envelope):
                self._outcomes.deliver_replies(self._context.me.uuid, back)
            else:
                self._outcome(self._context.me.uuid, *back)

    def on_second(self) -> None:
        self._losses.sweep()
