"""Sends messages to addresses: to one consumer at any node, or to all; and receives the replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

from msgspec.structs import replace

from mesh.balancers.base import Registration
from mesh.errors import LocalError
from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests
from mesh.features.services.node.dealing import dealt, seen
from mesh.features.services.node.groups import Groups
from mesh.features.services.node.hints import Hints
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.request_outcomes import RequestOutcomes
from mesh.features.services.node.serving import ServedAddresses
from mesh.features.services.node.strategies import NodeStrategies
from mesh.hops import site_of
from mesh.kernel.context.component import Component, HandleEnvelope, HandlerEntry, Share, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import Guest, GuestRequests, RemoteAddresses
from mesh.kernel.peers.facts import LoggedOut, PeerLost
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.facts import RequestAnswered, ServersChanged
from mesh.kernel.presence.presence import Presence
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.kernel.subscribers.facts import SessionBack, SessionClosed, SessionCutOff
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import ADDRESS, OTHERS, SENDS, check_asked
from mesh.remote_names import UNREACHABLE
from mesh.routing.requester import CLIENT, GATEWAY
from mesh.snapshots.outcomes import OutcomeCounts
from mesh.wire.calls import AskFared
from mesh.wire.commands import Answer, Respond, Sent
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, RESENT, Envelope
from mesh.wire.properties import check_properties
from mesh.wire.ttls import end_of, ttl_of

OPEN = 100_000  # open requests of one client

_known_address = lru_cache(256)(check_asked)  # clients repeat the same addresses


class Sending(Component):
    """Component that sends messages to the nodes that the strategies choose.

    The senders are clients here, and sessions of other sites for which this node is the gateway.
    """

    def __init__(
        self,
        context: NodeContext,
        named: Callable[[str], Peer | None],
        peers: Mapping[bytes, Peer],
        sessions: Sessions,
        presence: Presence,
        serving: ServedAddresses,
        back: ReplyBatch,
        strategies: NodeStrategies,
        departing: RequestBatch,
        groups: Groups,
    ) -> None:
        self._context = context
        self._named = named
        self._peers = peers
        self._sessions = sessions
        self._presence = presence
        self._serving = serving
        self._back = back
        self._strategies = strategies
        self._departing = departing
        self._groups = groups
        self._hints = Hints(context, presence)
        self._fates = RequestOutcomes(
            context, peers, sessions, strategies, departing, self._hints, self._choose
        )
        self.figured = self._fates.faring.figures

    def destination_handlers(self) -> Mapping[str, HandleEnvelope]:
        return {ADDRESS: self.send}

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Sent, self._sent), on_command(Respond, self._responded))

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedOut, lambda fact: self._fates.on_node_lost(fact.peer.node.uuid)),
            on_fact(PeerLost, lambda fact: self._fates.on_node_lost(fact.peer.node.uuid)),
            on_fact(ServersChanged, self._on_servers_changed),
            on_fact(SessionBack, lambda fact: self._fates.arriving.resume(fact.session)),
            on_fact(RequestAnswered, lambda _: self._came_back()),
            on_fact(SessionClosed, lambda fact: self._fates.drop_session(fact.session.stream)),
            on_fact(SessionCutOff, lambda fact: self._fates.cut_off(fact.session.stream)),
        )

    def guest_requests(self) -> Mapping[str, GuestRequests]:
        return {SENDS: self}

    def service_outcomes(self, most: int) -> Sequence[tuple[str, str, OutcomeCounts]]:
        return self.figured.busiest(most)

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskFared, lambda asked: asked.reply(self._fates.faring.by_address())),)

    def figures(self) -> dict[str, int | float]:
        return {
            "requests_open": sum(len(memory.asked) for memory in self._fates.streams.values()),
            **self._fates.faring.as_metrics(),
        }

    def holds_for_sessions(self) -> int:
        return sum(size for _, _, size in self.shares())

    def shares(self) -> Iterator[Share]:
        """Yield the requests of clients here that wait for answers or replies."""
        for stream, memory in self._fates.streams.items():
            session = self._sessions.by_stream.get(stream)
            if session is not None:
                yield from ((session, e.body, len(e.body)) for e in memory.open_envelopes())

    # --- requests of clients ----------------------------------------------------------------------------

    def send(self, session: Session, envelope: Envelope, ttl: int) -> None:
        """Send the messages of a client here.

        `ttl` is their remaining time in ms; 0 means no limit.
        """
        if envelope.to.startswith(OTHERS) and site_of(envelope.to) == self._context.settings.site.name:
            envelope = replace(envelope, to=envelope.to.split("/", 3)[3])
        self._send(session, envelope, ttl)

    @property
    def _remote(self) -> RemoteAddresses:
        return self._context.face.remote_addresses[OTHERS]

    def receive(self, guest: Guest, envelope: Envelope, ttl: int) -> None:
        """Send the messages of a session of another site; `ttl` is as in `send`."""
        if guest.stream not in self._fates.guests:
            self._sessions.others[guest.stream] = guest.answer
            self._fates.guests[guest.stream] = guest.reply
        self._send(guest, envelope, ttl)

    def open_of(self, guest: Guest) -> tuple[Set[int], int]:
        """Return the numbers of the open messages of that session, and their bytes."""
        return self._fates.load(guest.stream)

    def leave(self, guest: Guest) -> None:
        """Forget a session of another site, with its open messages."""
        self._sessions.others.pop(guest.stream, None)
        self._fates.guests.pop(guest.stream, None)
        self._fates.drop_session(guest.stream)

    def _send(self, session: Session | Guest, envelope: Envelope, ttl: int) -> None:
        memory = self._fates.memory(session.stream)
        until = end_of(ttl, self._context.clock.now)
        try:
            _known_address(envelope.to)
            if envelope.props:
                check_properties(envelope)
            self._check_room(session, memory, envelope)
        except LocalError as error:
            self._fates.refuse_all(memory, envelope, error.code, str(error))
            return
        if envelope.flags & REQUEST and isinstance(session, Session):
            self._fates.arriving.expect(session)
        for first, last, known in memory.sort(envelope, bool(envelope.flags & RESENT)):
            if known is not None:
                self._context.counters.count("repeated", last - first + 1)
                self._sessions.answer_client(session.stream, known)
                continue
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._choose_when_known(memory, envelope.part(first, last), until)

    def _check_room(self, session: Session | Guest, memory: SentRequests, envelope: Envelope) -> None:
        if envelope.flags & REQUEST and len(memory.asked) + envelope.count > OPEN:
            raise LocalError(
                f"{session.text} may have at most {OPEN:,} requests without a reply; {len(memory.asked):,} "
                "are open.",
                hint="Await some of the replies first.",
                code="TOO_MANY_REQUESTS",
            )

    def _choose_when_known(self, memory: SentRequests, e: Envelope, until: float) -> None:
        """Choose a node once the servers are known, and not before earlier messages to the address."""
        if e.flags & LOCAL_ONLY:
            self._choose(memory, e, until)
        elif site := site_of(e.to):
            self._remote.when_known(site, lambda: self._choose_way(memory, e, until, site))
        else:
            self._presence.when_known((ADDRESS, e.to), lambda: self._choose(memory, e, until))

    def _choose(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        tries: int = 0,
        in_vain: frozenset[bytes] = frozenset(),
    ) -> None:
        if self._fates.streams.get(e.stream) is not memory:
            return  # the session was closed meanwhile
        if (site := site_of(e.to)) and not e.flags & LOCAL_ONLY:
            self._choose_way(memory, e, until, site, tries, in_vain)
            return
        nodes = self._nodes(e, in_vain)
        names = self._strategies.several(e.to, nodes, lambda: seen(e.to, e, 0)) if e.flags & EVERY else nodes
        if not names:
            self._fates.nobody(memory, e)
        elif e.flags & EVERY:
            self._send_to_nodes(memory, e, until, {self._uuid(name): None for name in names}, tries, in_vain)
        else:
            for indices, name in dealt(self._strategies, e.to, nodes, e):
                part = e.part(e.first + indices[0], e.first + indices[-1])
                self._send_to_nodes(memory, part, until, {self._uuid(name): None}, tries, in_vain)

    def _choose_way(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        site: str,
        tries: int = 0,
        in_vain: frozenset[bytes] = frozenset(),
    ) -> None:
        """Send the envelope through a gateway to that site, or refuse it.

        While the gateways stay the same, all messages of a sender use the same one.
        """
        if self._fates.streams.get(e.stream) is not memory:
            return
        why = self._remote.why_none(site)
        way = self._remote.way(site, e.stream, in_vain) if not why else None
        if way is not None:
            self._send_to_nodes(memory, e, until, {way: None}, tries, in_vain)
        else:
            why = why or self._remote.why_no_way(site)
            answer = Answer("", 1, 1, UNREACHABLE, text=f"{why}.")
            self._fates.report_answer(memory, e.stream, range(e.first, e.last + 1), answer)

    def _nodes(self, e: Envelope, in_vain: frozenset[bytes]) -> dict[str, int]:
        me = self._context.me
        nodes = {}
        if not e.flags & LOCAL_ONLY:
            for uuid, consumers in self._presence.servers((ADDRESS, e.to)).items():
                if uuid in self._peers and uuid not in in_vain:
                    nodes[self._peers[uuid].node.name] = consumers
        here = self._serving.here(e.to, is_ours=not e.sender.startswith(OTHERS))
        if here and me.uuid not in in_vain:
            nodes[me.name] = here
        return nodes

    def _uuid(self, name: str) -> bytes:
        peer = self._named(name)
        return self._context.me.uuid if peer is None else peer.node.uuid

    def _send_to_nodes(
        self,
        memory: SentRequests,
        e: Envelope,
        until: float,
        nodes: dict[bytes, int | None],
        tries: int,
        in_vain: frozenset[bytes],
    ) -> None:
        way = EnvelopeWay(
            e.stream, e.to, e.sender, until, bool(e.flags & REQUEST), bool(e.flags & EVERY), nodes,
            e, tries, in_vain, dict.fromkeys(range(e.first, e.last + 1)), self._context.clock.now,
        )  # fmt: skip
        self._fates.begin(memory, way)
        ttl = ttl_of(until, self._context.clock.now)
        for uuid in nodes:
            if not way.is_for_all:
                self._strategies.sent_to(self._fates.faring.name(uuid), e.count)
            if uuid == self._context.me.uuid and e.to.startswith(OTHERS):
                self._remote.accept(CLIENT, e, ttl)
            elif uuid == self._context.me.uuid:
                self._serving.accept(GATEWAY if e.sender.startswith(OTHERS) else CLIENT, e, ttl)
            else:
                self._departing.add(uuid, e, ttl)

    # --- answers and replies ----------------------------------------------------------------------------

    def _sent(self, conn: Conn, peer: Peer, command: Sent, _: list[Envelope]) -> None:
        for outcome in command.outcomes:
            self._outcome(peer.node.uuid, outcome.stream, outcome.answer)

    def _outcome(self, uuid: bytes, stream: bytes, answer: Answer) -> None:
        (self._fates if answer.domain == SENDS else self._groups).outcome(uuid, stream, answer)

    def _responded(self, conn: Conn, peer: Peer, command: Respond, envelopes: list[Envelope]) -> None:
        for e in envelopes:
            theirs = ("/node/" + peer.node.name + "/client/", OTHERS)
            if e.domain != SENDS or e.keys != ("",) or not (e.sender == "" or e.sender.startswith(theirs)):
                self._context.counters.count("forged")
            else:
                self._fates.deliver_replies(peer.node.uuid, e)

    def _on_servers_changed(self, fact: ServersChanged) -> None:
        peer = self._peers.get(fact.uuid)
        if fact.kind == ADDRESS and fact.change and (peer is not None or fact.uuid == self._context.me.uuid):
            node = self._context.me.name if peer is None else peer.node.name
            self._strategies.registrations([Registration(fact.name, node, fact.change)])

    def _came_back(self) -> None:
        """Process the answers and replies that wait for senders at this node."""
        here = self._back.here
        while here:
            back = here.popleft()
            if isinstance(back, Envelope):
                self._fates.deliver_replies(self._context.me.uuid, back)
            else:
                self._outcome(self._context.me.uuid, *back)

    def on_second(self) -> None:
        self._fates.sweep()
