"""Where does a message to an address go? To one who serves it, anywhere, or to all; and replies come back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import inf

from balancers.base import Registration
from mesh.core.desk.conn import Conn
from mesh.core.desk.desk import Desk
from mesh.core.desk.facts import Hearing, hear
from mesh.core.desk.part import Part, Sends, Taking, take
from mesh.core.peers.facts import LoggedOut, PeerLost
from mesh.core.peers.peer import Peer
from mesh.core.presence.facts import ServersChanged
from mesh.core.presence.presence import Presence
from mesh.core.services.arriving import Arriving
from mesh.core.services.back import Back
from mesh.core.services.dealing import dealt, seen
from mesh.core.services.departing import Departing
from mesh.core.services.facts import CameBack
from mesh.core.services.faring import Faring
from mesh.core.services.groups import Groups
from mesh.core.services.hints import Hints
from mesh.core.services.serving import LOST, NOBODY, Serving
from mesh.core.services.strategies import Strategies
from mesh.core.subscribers.facts import SessionBack, SessionClosed
from mesh.core.subscribers.session import Session
from mesh.core.subscribers.sessions import Sessions
from mesh.errors import LocalError
from mesh.names import ADDRESS, SENDS, check_address
from mesh.services.memory import Memory, Way, runs
from mesh.services.replies import refusal
from mesh.wire.commands import Answer, Respond, Sent
from mesh.wire.envelope import EVERY, LOCAL_ONLY, REQUEST, RESENT, Envelope
from mesh.wire.properties import check_properties

TRIES = 3  # nodes that may say that nobody serves it there, although they had said so
OPEN = 100_000  # requests of one client that may wait for their replies
SWEEP = 5.0  # s between two looks for requests whose time is over


class Sending(Part):
    """What clients here send to addresses, to whomever the strategies choose."""

    def __init__(
        self,
        desk: Desk,
        named: Callable[[str], Peer | None],
        peers: Mapping[bytes, Peer],
        sessions: Sessions,
        presence: Presence,
        serving: Serving,
        back: Back,
        strategies: Strategies,
        departing: Departing,
        groups: Groups,
    ) -> None:
        self._desk = desk
        self._named = named
        self._peers = peers
        self._sessions = sessions
        self._presence = presence
        self._serving = serving
        self._back = back
        self._strategies = strategies
        self._faring = Faring(desk, peers)
        self.figured = self._faring.figures
        self._arriving = Arriving(desk, sessions)
        self._departing = departing
        self._groups = groups
        self._hints = Hints(desk, presence)
        self._streams: dict[bytes, Memory] = {}
        self._at: dict[bytes, dict[Way, None]] = {}  # by uuid of the node: what is open there
        self._swept = 0.0

    def sends(self) -> Mapping[str, Sends]:
        return {ADDRESS: self.send}

    def from_peers(self) -> Sequence[Taking]:
        return (take(Sent, self._sent), take(Respond, self._responded))

    def hears(self) -> Sequence[Hearing]:
        return (
            hear(LoggedOut, lambda fact: self._lost(fact.peer.node.uuid)),
            hear(PeerLost, lambda fact: self._lost(fact.peer.node.uuid)),
            hear(ServersChanged, self._changed),
            hear(SessionBack, lambda fact: self._arriving.back(fact.session)),
            hear(CameBack, lambda _: self._came_back()),
            hear(SessionClosed, lambda fact: self._closed(fact.session)),
        )

    def figures(self) -> dict[str, int | float]:
        return {
            "requests_open": sum(len(memory.asked) for memory in self._streams.values()),
            **self._faring.told(),
        }

    # --- what clients here send -------------------------------------------------------------------------

    def send(self, session: Session, envelope: Envelope, ttl: int) -> None:
        """From a client of this node. `ttl`: ms that it has; 0 = as long as it takes."""
        memory = self._streams.get(session.stream)
        if memory is None:
            memory = self._streams[session.stream] = Memory()
        until = self._desk.now + ttl / 1000 if ttl else inf
        try:
            check_address(envelope.to)
            if envelope.props:
                check_properties(envelope)
            self._check_room(session, memory, envelope)
        except LocalError as error:
            self._say_all(session.stream, memory, envelope, error.code, str(error))
            return
        if envelope.flags & REQUEST:
            self._arriving.expect(session)
        for first, last, answer in memory.sort(envelope, bool(envelope.flags & RESENT)):
            if answer is not None:
                self._desk.count("repeated", last - first + 1)
                self._sessions.answer(session.stream, answer)
                continue
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._ask(memory, envelope.part(first, last), until)

    def _check_room(self, session: Session, memory: Memory, envelope: Envelope) -> None:
        if envelope.flags & REQUEST and len(memory.asked) + envelope.count > OPEN:
            raise LocalError(
                f"{session.text} waits for {len(memory.asked):,} replies.",
                hint="Await some of them first.",
                code="TOO_MANY_REQUESTS",
            )

    def _ask(self, memory: Memory, e: Envelope, until: float) -> None:
        """It goes when it is known who serves it, behind what waits for that already."""
        if e.flags & LOCAL_ONLY:
            self._choose(memory, e, until)
        else:
            self._presence.ask((ADDRESS, e.to), lambda: self._choose(memory, e, until))

    def _choose(
        self,
        memory: Memory,
        e: Envelope,
        until: float,
        tries: int = 0,
        in_vain: frozenset[bytes] = frozenset(),
    ) -> None:
        if self._streams.get(e.stream) is not memory:
            return  # its session was closed meanwhile
        nodes = self._nodes(e, in_vain)
        names = self._strategies.several(e.to, nodes, lambda: seen(e.to, e, 0)) if e.flags & EVERY else nodes
        if not names:
            numbers = range(e.first, e.last + 1)
            self._say(memory, e.stream, numbers, Answer("", 1, 1, NOBODY, text=self._hints.nobody(e.to)))
            self._faring.nobody(e, NOBODY)
        elif e.flags & EVERY:
            self._go(memory, e, until, {self._uuid(name): None for name in names}, tries, in_vain)
        else:
            for indices, name in dealt(self._strategies, e.to, nodes, e):
                part = e.part(e.first + indices[0], e.first + indices[-1])
                self._go(memory, part, until, {self._uuid(name): None}, tries, in_vain)

    def _nodes(self, e: Envelope, in_vain: frozenset[bytes]) -> dict[str, int]:
        """The nodes where it is served, and by how many."""
        me = self._desk.me
        nodes = {}
        if not e.flags & LOCAL_ONLY:
            for uuid, consumers in self._presence.servers((ADDRESS, e.to)).items():
                if uuid in self._peers and uuid not in in_vain:
                    nodes[self._peers[uuid].node.name] = consumers
        here = self._serving.here(e.to, is_ours=True)
        if here and me.uuid not in in_vain:
            nodes[me.name] = here
        return nodes

    def _uuid(self, name: str) -> bytes:
        peer = self._named(name)
        return self._desk.me.uuid if peer is None else peer.node.uuid

    def _go(
        self,
        memory: Memory,
        e: Envelope,
        until: float,
        nodes: dict[bytes, int | None],
        tries: int,
        in_vain: frozenset[bytes],
    ) -> None:
        way = Way(
            e.stream, e.to, e.sender, until, bool(e.flags & REQUEST), bool(e.flags & EVERY), nodes,
            e, tries, in_vain, dict.fromkeys(range(e.first, e.last + 1)), self._desk.now,
        )  # fmt: skip
        memory.unanswered.update(dict.fromkeys(way.open, way))
        ttl = 0 if until == inf else max(1, int((until - self._desk.now) * 1000))
        for uuid in nodes:
            if not way.is_for_all:
                self._strategies.sent_to(self._faring.name(uuid), e.count)
            self._at.setdefault(uuid, {})[way] = None
            if uuid == self._desk.me.uuid:
                self._serving.take(b"", e, ttl)
            else:
                self._departing.add(uuid, e, ttl)

    # --- what becomes of it -----------------------------------------------------------------------------

    def _sent(self, conn: Conn, peer: Peer, command: Sent, _: list[Envelope]) -> None:
        for outcome in command.outcomes:
            self._outcome(peer.node.uuid, outcome.stream, outcome.answer)

    def _outcome(self, uuid: bytes, stream: bytes, a: Answer) -> None:
        """A node says what became of some numbers."""
        if a.domain != SENDS:
            self._groups.outcome(uuid, stream, a)
            return
        memory = self._streams.get(stream)
        found: dict[Way, list[int]] = {}
        if memory is not None:
            for n in _within(memory.unanswered, a.first, a.last):
                way = memory.unanswered[n]
                if way is not None and way.nodes.get(uuid, 0) is None:
                    found.setdefault(way, []).append(n)
        if memory is None or not found:
            self._desk.count("unasked")
            return
        for way, numbers in found.items():
            self._came(memory, way, uuid, numbers, a)

    def _came(self, memory: Memory, way: Way, uuid: bytes, numbers: list[int], a: Answer) -> None:
        if way.is_for_all:
            way.nodes[uuid] = a.matched if a.state == "OK" else 0
            self._told_by_all(memory, way)
        elif a.state == NOBODY and way.tries < TRIES and way.envelope is not None:
            self._again(memory, way, uuid, numbers)
        else:
            self._end(memory, way, numbers, a)

    def _told_by_all(self, memory: Memory, way: Way) -> None:
        """When each node has said how many have it there, its sender learns how many that are."""
        if None in way.nodes.values():
            return
        matched = sum(count or 0 for count in way.nodes.values())
        nobody = Answer("", 1, 1, NOBODY, text=self._hints.nobody(way.to))
        numbers = [n for n in way.open if n in memory.unanswered]
        self._end(memory, way, numbers, Answer("", 1, 1, matched=matched) if matched else nobody)

    def _again(self, memory: Memory, way: Way, uuid: bytes, numbers: list[int]) -> None:
        """Nobody had it there: that is proof, and it may go to another."""
        e = way.envelope
        assert e is not None
        self._heard_of(way, len(numbers), is_taken=False)
        self._drop(memory, way, numbers)
        for first, last in runs(numbers):
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._choose(memory, e.part(first, last), way.until, way.tries + 1, way.in_vain | {uuid})

    def _end(self, memory: Memory, way: Way, numbers: Sequence[int], a: Answer) -> None:
        """They have their answer; a request that somebody has waits for its reply."""
        self._heard_of(way, len(numbers), a.state == "OK")
        self._say(memory, way.stream, numbers, a)
        self._faring.answered(way, len(numbers), a.state)
        if a.state == "OK" and way.is_request:
            memory.asked.update(dict.fromkeys(numbers, way))
        else:
            self._drop(memory, way, numbers)

    def _heard_of(self, way: Way, n: int, is_taken: bool) -> None:
        """Tell the strategies what became of n messages: how soon they were taken, or that they were not."""
        for uuid in way.nodes if n and not way.is_for_all else ():
            seconds = self._desk.now - way.went if is_taken else None
            self._strategies.answered(self._faring.name(uuid), n, seconds)

    def _say(self, memory: Memory, stream: bytes, numbers: Sequence[int], a: Answer) -> None:
        for n in numbers:
            memory.answered(n, a.state, a.text)
        for first, last in runs(numbers):
            self._sessions.answer(stream, Answer(SENDS, first, last, a.state, a.matched, a.text))

    def _say_all(self, stream: bytes, memory: Memory, e: Envelope, code: str, text: str) -> None:
        """None of it goes anywhere. What had an answer keeps it."""
        self._desk.count("refused", e.count)
        for first, last, answer in memory.sort(e, is_resent=False):
            if answer is not None:
                self._sessions.answer(stream, answer)
            else:
                self._say(memory, stream, range(first, last + 1), Answer("", 1, 1, code, text=text))

    def _drop(self, memory: Memory, way: Way, numbers: Iterable[int]) -> None:
        """Nothing more is to come for these."""
        for n in numbers:
            way.open.pop(n, None)
            memory.asked.pop(n, None)
        if not way.open:
            self._close(way)

    def _close(self, way: Way) -> None:
        for uuid in way.nodes:
            ways = self._at.get(uuid)
            if ways is not None:
                ways.pop(way, None)
                if not ways:
                    del self._at[uuid]

    # --- replies ----------------------------------------------------------------------------------------

    def _responded(self, conn: Conn, peer: Peer, command: Respond, envelopes: list[Envelope]) -> None:
        for e in envelopes:
            of_peer = f"/node/{peer.node.name}/client/"
            if e.domain != SENDS or e.keys != ("",) or not (e.sender == "" or e.sender.startswith(of_peer)):
                self._desk.count("forged")
            else:
                self._replied(peer.node.uuid, e)

    def _replied(self, uuid: bytes, e: Envelope) -> None:
        """Replies of those who were asked go to their session; what nobody waits for is dropped."""
        memory, session = self._streams.get(e.stream), self._sessions.by_stream.get(e.stream)
        wanted = []
        came: dict[Way, list[int]] = {}
        if memory is not None:
            for index, n in enumerate(e.number_list(range(e.count))):
                way = memory.asked.get(n) or memory.unanswered.get(n)
                if way is None or uuid not in way.nodes or not way.is_request or e.to != way.sender:
                    continue
                wanted.append(index)
                came.setdefault(way, []).append(index)
                if not way.is_for_all:
                    if n in memory.unanswered:
                        self._end(memory, way, (n,), Answer("", 1, 1, matched=1))
                    self._drop(memory, way, (n,))
        for way, places in came.items():
            self._faring.replied(uuid, way, e, places)
        if len(wanted) < e.count:
            self._desk.count("late_replies", e.count - len(wanted))
        if wanted and session is not None:
            self._arriving.offer(session, e.cut(wanted))

    def _fail(self, memory: Memory, way: Way, numbers: list[int], code: str, text: str) -> None:
        """The mesh itself replies to requests that somebody had."""
        session = self._sessions.by_stream.get(way.stream)
        if session is not None and numbers:
            self._arriving.offer(session, refusal(way.stream, sorted(numbers), way.sender, code, text))
        self._faring.failed(way, len(numbers), code)
        self._drop(memory, way, numbers)

    def _changed(self, fact: ServersChanged) -> None:
        peer = self._peers.get(fact.uuid)
        if fact.kind == ADDRESS and (peer is not None or fact.uuid == self._desk.me.uuid):
            node = self._desk.me.name if peer is None else peer.node.name
            self._strategies.registrations([Registration(fact.name, node, fact.change)])

    # --- what is lost -----------------------------------------------------------------------------------

    def _lost(self, uuid: bytes) -> None:
        """A node is gone, or its connection: what it had may have been done, and nobody will say so. What has
        not left for it goes to another."""
        name = self._faring.name(uuid)
        unsent = {(e.stream, e.first) for e in self._departing.take_back(uuid)}
        for way in list(self._at.pop(uuid, ())):
            memory = self._streams.get(way.stream)
            if memory is None:
                continue
            numbers = list(way.open)
            if way.is_for_all:
                way.nodes[uuid] = way.nodes[uuid] or 0
                self._told_by_all(memory, way)
            elif way.envelope is not None and (way.stream, way.envelope.first) in unsent:
                self._again(memory, way, uuid, numbers)
            else:
                text = f"{name} is gone, and perhaps somebody there has done it."
                waiting = [n for n in numbers if n in memory.unanswered]
                self._end(memory, way, waiting, Answer("", 1, 1, LOST, text=text))
                self._fail(memory, way, [n for n in numbers if n in memory.asked], LOST, text)

    def _closed(self, session: Session) -> None:
        memory = self._streams.pop(session.stream, None)
        if memory is not None:
            for way in {*memory.asked.values(), *memory.unanswered.values()} - {None}:
                if way is not None:
                    self._heard_of(way, sum(n in memory.unanswered for n in way.open), is_taken=False)
                    self._close(way)

    def tidy(self) -> None:
        """Requests whose time has long been over are forgotten: nobody waits for their replies."""
        if self._desk.now - self._swept < SWEEP:
            return
        self._swept = self._desk.now
        for ways in list(self._at.values()):
            for way in [way for way in ways if way.until + SWEEP < self._desk.now]:
                memory = self._streams.get(way.stream)
                if memory is not None:
                    late = [n for n in way.open if n in memory.asked]
                    if not way.is_for_all:  # of which nobody knows how many replies were to come
                        self._faring.failed(way, len(late), "EXPIRED")
                    self._drop(memory, way, late)

    def _came_back(self) -> None:
        """Take what became of what clients here have sent to addresses here."""
        here = self._back.here
        while here:
            back = here.popleft()
            if isinstance(back, Envelope):
                self._replied(self._desk.me.uuid, back)
            else:
                self._outcome(self._desk.me.uuid, *back)


def _within(numbers: Collection[int], first: int, last: int) -> Iterator[int]:
    """Those of the numbers that are in the range, however wide it is."""
    if last - first >= len(numbers):
        return iter([n for n in numbers if first <= n <= last])
    return (n for n in range(first, last + 1) if n in numbers)
