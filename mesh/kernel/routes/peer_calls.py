"""Questions to other nodes, and their pending replies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any, Generic

from msgspec.structs import replace

from mesh.errors import RemoteError
from mesh.flow.known_by_all import KnownByAll
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.facts import PeerLost, RoutesChanged
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.unresponsive_peers import SHORT, UnresponsivePeers
from mesh.printable import count
from mesh.wire.calls import Ask, AskGet, AskWhere, Carried, arguments
from mesh.wire.commands import Call, Reply
from mesh.wire.envelope import UNCONFIRMED, Envelope
from mesh.wire.limits import MIB
from mesh.wire.replies import Hops, Peeked, R, Resumed, Source, Values, read_result

NOBODY: Source = "", None, b""  # the source does not matter
LONGEST = 60.0  # s that a question with long replies may take in all
MOST = 256 * MIB  # bytes of replies for which a question waits longer


@dataclass(slots=True)
class PeerReply(Generic[R]):
    """A reply of one node: a value, and envelopes with their sources."""

    value: R
    found: list[tuple[Envelope, Source]] = field(default_factory=list)
    code: str = ""  # of its refusal

    def add_reply(self, says: type[R], reply: Reply, envelopes: list[Envelope]) -> None:
        """Add a reply or a part of one. Raises: RemoteError for an unreadable reply, which does not count."""
        self.value, self.code = says(), reply.code
        if not reply.code:
            value = read_result(says, reply.value)
            sources = [NOBODY] * len(envelopes) if isinstance(value, Peeked | Resumed) else []
            sources = value.sources if isinstance(value, Values) else sources
            if len(sources) != len(envelopes):
                raise RemoteError(
                    f"the reply has {count(len(envelopes), 'value')}, but {count(len(sources), 'source')}",
                    code="MALFORMED",
                )
            self.value = value
            # Unconfirmed messages concern only the node's own clients.
            self.found += zip([e.without(UNCONFIRMED) for e in envelopes], sources, strict=True)


Replies = dict[bytes, PeerReply[R]]  # by uuid
OnReplies = Callable[[Replies[R], list[str]], None]  # (replies, names of nodes that did not reply)


@dataclass(slots=True, eq=False)
class Question(Generic[R]):
    """A question to several nodes."""

    need: dict[bytes, str]  # uuid -> name of nodes without a reply
    deadline: float
    then: OnReplies[R]
    says: type[R]  # type of the reply
    begun: float
    is_counted: bool  # a get, whose answers are counted
    is_judged: bool  # nodes without an answer count as slow
    is_patient: bool  # also with slow nodes
    per_part: float  # s for which each part of a reply extends the wait; 0: none
    size: int = 0  # bytes of all replies
    replies: Replies[R] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


class PeerCalls(Component):
    """Component for questions to peers, and for the peers' confirmations of this node's queries."""

    def __init__(self, context: NodeContext, neighbours: Neighbours) -> None:
        self._context = context
        self._neighbours = neighbours
        self.slow = UnresponsivePeers(context, neighbours.directory.introduction, self._try)
        self._confirming = KnownByAll[bytes](CONFIRM)  # by uuid: versions of this node's queries
        self._questions: dict[int, Question[Any]] = {}
        self._early: deque[Callable[[], None]] = deque()  # asked before the peers are known
        self._request = 0
        self._due_at = inf  # before this time, no wait is over
        self._slow_version = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(PeerLost, lambda fact: self._on_peer_lost(fact.peer)),
            on_fact(RoutesChanged, lambda _: self.finish_waits()),
        )

    def from_peers(self) -> Sequence[HandlerEntry]:
        return (on_command(Reply, self._replied),)

    def tick(self) -> None:
        """Finish the waits that are over, without a look at each question while none can be."""
        self._begin()
        if self._context.clock.now >= self._due_at or self._slow_version != self.slow.version:
            self.finish_waits()
            self._slow_version, self._due_at = self.slow.version, self.deadline()
        self._context.clock.wake(self._due_at)

    def _try(self, uuid: bytes) -> None:
        """Ask a peer a trivial question, to see how soon it answers."""
        peer = self._neighbours.peers.get(uuid)
        if peer is not None:
            self.ask_all([peer], AskWhere(node=peer.node.name), Hops, lambda replies, missing: None)

    def _send_call(self, peer: Peer, call: Call) -> None:
        peer.reads[call.request] = call
        self._context.out.send(peer.data, call)
        self._neighbours.review_login(peer)

    def when_settled(self, work: Callable[[], None]) -> None:
        """Call `work` once this node had time to meet its peers, which seem absent right after a start.

        After that time `work` is called immediately.
        """
        if self._neighbours.is_settled():
            work()
        else:
            self._early.append(work)

    def call_when_confirmed(self, need: dict[bytes, int], then: Callable[[], None]) -> None:
        """Call `then` when each peer has confirmed its version in `need`, after CONFIRM at the latest.

        A peer that dies is no longer awaited.
        """
        left = set(need)

        def confirmed_by(uuid: bytes) -> None:
            left.discard(uuid)
            if not left:
                then()

        for uuid, version in need.items():
            self._confirming.when(uuid, version, self._context.clock.now, partial(confirmed_by, uuid))
        if need:
            self._wake(self._context.clock.now + CONFIRM)
        else:
            then()

    def _wake(self, at: float) -> None:
        self._due_at = min(self._due_at, at)
        self._context.clock.wake(at)

    def confirmed(self, peer: Peer) -> None:
        """End the waits that `peer.confirmed` satisfies, and start deferred work if settled."""
        self._confirming.end_waits(self._context.clock.now, lambda _: peer.confirmed, (peer.node.uuid,))
        self._begin()

    def ask_all(
        self,
        peers: Iterable[Peer],
        ask: Ask,
        says: type[R],
        then: OnReplies[R],
        within: float = CONFIRM,
        by: Callable[[Peer, Call], None] | None = None,
        is_patient: bool = False,
        extends: bool = False,
    ) -> None:
        """Ask each peer, and call `then` with the replies that arrive within `within` seconds.

        `then` is called as soon as each peer has replied or died; slow peers alone delay it by SHORT seconds
        at most, unless `is_patient`. With `extends`, each part of a long reply gives the question `within`
        seconds more, up to LONGEST seconds in all. `by`, if given, sends the question to a peer; otherwise
        the data connection is used.
        """
        self._request += 1
        peers = list(peers)
        need = {peer.node.uuid: peer.node.name for peer in peers}
        # The time of a reply that follows all messages in transit says little about the node.
        is_read = isinstance(ask, AskGet) and not ask.after
        # On another connection the question may be lost, so a missing reply says nothing about the node.
        is_judged = by is None
        now, per_part = self._context.clock.now, within if extends else 0.0
        question = Question(need, now + within, then, says, now, is_read, is_judged, is_patient, per_part)
        for node in need.values() if is_read else ():
            self._context.counters.tally.counters_of(node).asked += 1
        self._questions[self._request] = question
        self._wake(self._due(question))
        # The peers may have to ask others, and must answer before this node stops waiting.
        if isinstance(ask, Carried):
            ask = replace(ask, within=within * 3 / 4)
        call = Call(self._request, ask.verb, arguments(ask))
        for peer in peers:
            (by or self._send_call)(peer, call)
        self._finish(call.request)

    def _replied(self, conn: Conn, peer: Peer, reply: Reply, envelopes: list[Envelope]) -> None:
        question = self._questions.get(reply.request)
        if question is None or peer.node.uuid not in question.need:
            peer.reads.pop(reply.request, None)
            if not self.slow.tried(peer.node.uuid, reply.request):
                self._context.counters.add_count("unasked")  # or late
            return
        told = question.replies.setdefault(peer.node.uuid, PeerReply(question.says()))
        try:
            told.add_reply(question.says, reply, envelopes)
        except RemoteError as error:
            told.code = error.code
            self._context.counters.add_count("malformed")
        for envelope in envelopes:
            self._context.clock.observe_timestamp(envelope)
        self._extend(question, envelopes)
        if not (isinstance(told.value, Values) and told.value.more):
            peer.reads.pop(reply.request, None)
            node = question.need.pop(peer.node.uuid)
            self.slow.answers(peer.node.uuid)
            if question.is_counted:
                self._context.counters.tally.counters_of(node).answered += 1
                self._context.counters.tally.counters_of(node).seconds += (
                    self._context.clock.now - question.begun
                )
            self._finish(reply.request)
            self._begin()

    def _extend(self, question: Question[Any], envelopes: list[Envelope]) -> None:
        """Let a question wait longer, if it may, as another part of a reply has arrived."""
        question.size += sum(len(envelope.body) for envelope in envelopes)
        if question.per_part and question.size <= MOST:
            until = self._context.clock.now + question.per_part
            question.deadline = max(question.deadline, min(until, question.begun + LONGEST))

    def _on_peer_lost(self, peer: Peer) -> None:
        peer.reads.clear()
        self.slow.forget_node(peer.node.uuid)
        self._confirming.end_waits(self._context.clock.now, lambda _: inf, (peer.node.uuid,))
        for request, question in list(self._questions.items()):
            if peer.node.uuid in question.need:
                question.missing.append(question.need.pop(peer.node.uuid))
                self._finish(request)
        self._begin()

    def finish_waits(self) -> None:
        """Finish the waits whose time is over, and ask slow nodes again when that is due."""
        self._begin()
        for uuid in self._confirming.late(self._context.clock.now):
            self.slow.waited_for(uuid, CONFIRM)
        self._confirming.end_waits(self._context.clock.now, lambda _: -inf)
        for request in list(self._questions):
            self._finish(request)
        self.slow.send_probes()

    def _begin(self) -> None:
        while self._early and self._neighbours.is_settled():
            self._early.popleft()()

    def _finish(self, request: int) -> None:
        question = self._questions.get(request)
        if question is not None and question.need and self._context.clock.now < self._due(question):
            self._wake(self._due(question))
        elif question is not None:
            del self._questions[request]
            for uuid in question.need:
                if (peer := self._neighbours.peers.get(uuid)) is not None:
                    peer.reads.pop(request, None)
                if question.is_judged:
                    self.slow.waited_for(uuid, self._context.clock.now - question.begun)
                self.slow.tries(uuid, request, question.deadline)
            question.then(question.replies, [*question.missing, *question.need.values()])

    def _due(self, question: Question[Any]) -> float:
        """Return the deadline of a question: a short one if only slow nodes without any reply are missing."""
        are_slow = all(uuid in self.slow and uuid not in question.replies for uuid in question.need)
        if are_slow and not question.is_patient:
            return min(question.deadline, question.begun + SHORT)
        return question.deadline

    def deadline(self) -> float:
        """Return when `finish_waits` must be called next; inf: no wait is open."""
        deadlines = [self._confirming.deadline, self.slow.deadline()]
        deadlines += map(self._due, self._questions.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=inf)
