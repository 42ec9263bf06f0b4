"""Tracks messages that clients here, or in other sites, sent to addresses: answers, replies, losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from mesh.features.services.model.replies import refusal
from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests
from mesh.features.services.node.arriving import RequestFeeds
from mesh.features.services.node.hints import Hints
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving import LOST, NOBODY
from mesh.features.services.node.strategies import NodeStrategies
from mesh.hops import site_of
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import SENDS
from mesh.streams.ranges import numbers_within
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope, runs

TRIES = 3  # further nodes tried after NO_HANDLERS
SWEEP = 5.0  # s between two scans for expired requests

# Callback that chooses a new destination. Arguments: the memory of the sender, the messages, their deadline,
# the number of attempts so far, and the nodes that were tried.
Again = Callable[[SentRequests, Envelope, float, int, frozenset[bytes]], None]


class RequestOutcomes:
    """The open messages to addresses, by the sender's stream and by destination node."""

    def __init__(
        self,
        context: NodeContext,
        peers: Mapping[bytes, Peer],
        sessions: Sessions,
        strategies: NodeStrategies,
        departing: RequestBatch,
        hints: Hints,
        again: Again,
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._strategies = strategies
        self._departing = departing
        self._hints = hints
        self._choose = again
        self.arriving = RequestFeeds(context, sessions)
        self.guests: dict[
            bytes, Callable[[Envelope], None]
        ] = {}  # reply callbacks, by stream of another site
        self.faring = ServiceStats(context, peers)
        self.streams: dict[bytes, SentRequests] = {}
        self._at: dict[bytes, dict[EnvelopeWay, None]] = {}  # open envelopes, by node uuid
        self._swept = 0.0

    def memory(self, stream: bytes) -> SentRequests:
        """Return the memory of a client's messages to addresses, created if necessary."""
        memory = self.streams.get(stream)
        if memory is None:
            memory = self.streams[stream] = SentRequests()
        return memory

    def begin(self, memory: SentRequests, way: EnvelopeWay) -> None:
        """Register an envelope that is about to be sent to its nodes."""
        memory.unanswered.update(dict.fromkeys(way.open, way))
        for uuid in way.nodes:
            self._at.setdefault(uuid, {})[way] = None

    # --- answers ----------------------------------------------------------------------------------------

    def outcome(self, uuid: bytes, stream: bytes, a: Answer) -> None:
        """Apply the answer of a node to messages of a stream."""
        memory = self.streams.get(stream)
        found: dict[EnvelopeWay, list[int]] = {}
        if memory is not None:
            for n in numbers_within(memory.unanswered, a.first, a.last):
                way = memory.unanswered[n]
                if way is not None and way.nodes.get(uuid, 0) is None:
                    found.setdefault(way, []).append(n)
            if a.state != "OK" and not found:
                self._given_back(memory, uuid, a)
                return
        if memory is None or not found:
            self._context.counters.count("unasked")
            return
        for way, numbers in found.items():
            self._on_answer(memory, way, uuid, numbers, a)

    def _given_back(self, memory: SentRequests, uuid: bytes, a: Answer) -> None:
        """Reschedule or fail accepted requests that the node returned because no consumer started them."""
        found: dict[EnvelopeWay, list[int]] = {}
        for n in numbers_within(memory.asked, a.first, a.last):
            way = memory.asked[n]
            if uuid in way.nodes and not way.is_for_all:
                found.setdefault(way, []).append(n)
        if not found:
            self._context.counters.count("unasked")
        for way, numbers in found.items():
            if a.state == NOBODY and _has_others(way):
                self._reschedule(memory, way, uuid, numbers)
            else:
                self._fail(memory, way, numbers, a.state, a.text)

    def _on_answer(
        self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, numbers: list[int], a: Answer
    ) -> None:
        if way.is_for_all:
            way.nodes[uuid] = a.matched if a.state == "OK" else 0
            way.is_lost = way.is_lost or a.state == LOST
            way.refusal = a if a.state not in ("OK", LOST, NOBODY) else way.refusal
            self._told_by_all(memory, way)
        elif a.state == NOBODY and _has_others(way) and way.envelope is not None:
            self._reschedule(memory, way, uuid, numbers)
        else:
            self._answer_messages(memory, way, numbers, a)

    def _told_by_all(self, memory: SentRequests, way: EnvelopeWay) -> None:
        """Answer a message to all consumers once each node has reported how many of its consumers get it."""
        if None in way.nodes.values():
            return
        matched = sum(count or 0 for count in way.nodes.values())
        answer = Answer("", 1, 1, matched=matched)
        if way.is_lost and not matched:
            answer = Answer(
                "", 1, 1, LOST, text="The server was lost before a reply. It may have run the request."
            )
        elif not matched:
            answer = way.refusal or Answer("", 1, 1, NOBODY, text=self._hints.nobody(way.to))
        way.matched = matched
        self._answer_messages(memory, way, [n for n in way.open if n in memory.unanswered], answer)
        self._finish(memory, way, list(way.open))

    def _finish(self, memory: SentRequests, way: EnvelopeWay, numbers: Sequence[int]) -> None:
        """Close a request to all consumers when each of them has replied."""
        if way.matched:
            self._drop(memory, way, [n for n in numbers if len(way.heard.get(n, ())) >= way.matched])

    def _reschedule(self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, numbers: list[int]) -> None:
        """Choose another node for messages that no consumer at the node `uuid` has started."""
        e = way.envelope
        assert e is not None
        self._heard_of(way, len(numbers), is_done=False)
        self._drop(memory, way, numbers)
        for first, last in runs(numbers):
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._choose(memory, e.part(first, last), way.until, way.tries + 1, way.in_vain | {uuid})

    def _answer_messages(
        self, memory: SentRequests, way: EnvelopeWay, numbers: Sequence[int], a: Answer
    ) -> None:
        """Answer the messages; accepted requests then wait for their reply."""
        if a.state != "OK" or not way.is_request:
            self._heard_of(way, len(numbers), a.state == "OK")
        self.report_answer(memory, way.stream, numbers, a)
        self.faring.count_answers(way, len(numbers), a.state)
        if a.state == "OK" and way.is_request:
            memory.asked.update(dict.fromkeys(numbers, way))
        else:
            self._drop(memory, way, numbers)

    def _heard_of(self, way: EnvelopeWay, n: int, is_done: bool) -> None:
        """Report the outcome of n messages to the strategies, unless they were sent to all consumers.

        The latency is the time until acceptance, or until the reply to a request; None means failure.
        """
        for uuid in way.nodes if n and not way.is_for_all else ():
            seconds = self._context.clock.now - way.went if is_done else None
            self._strategies.count_answers(self.faring.name(uuid), n, seconds)

    def report_answer(self, memory: SentRequests, stream: bytes, numbers: Sequence[int], a: Answer) -> None:
        for n in numbers:
            memory.record_answer(n, a.state, a.text)
        for first, last in runs(numbers):
            self._sessions.answer_client(stream, Answer(SENDS, first, last, a.state, a.matched, a.text))

    def refuse_all(self, memory: SentRequests, e: Envelope, code: str, text: str) -> None:
        """Refuse the messages of an envelope; messages that were answered before keep their answer."""
        self._context.counters.count("refused", e.count)
        for first, last, answer in memory.sort(e, is_resent=False):
            if answer is not None:
                self._sessions.answer_client(e.stream, answer)
            else:
                self.report_answer(
                    memory, e.stream, range(first, last + 1), Answer("", 1, 1, code, text=text)
                )

    def nobody(self, memory: SentRequests, e: Envelope) -> None:
        """Answer NO_HANDLERS, as no node serves the address.

        A message that was accepted and returned has had its answer, so the refusal is its reply.
        """
        text, numbers = self._hints.nobody(e.to), range(e.first, e.last + 1)
        self.faring.nobody(e, NOBODY)
        taken = [n for n in numbers if memory.was_taken(n)]
        for n in taken:
            memory.unanswered.pop(n, None)
        if taken:
            self._offer(e.stream, refusal(e.stream, taken, e.sender, NOBODY, text))
        others = [n for n in numbers if n not in taken]
        self.report_answer(memory, e.stream, others, Answer("", 1, 1, NOBODY, text=text))

    def _drop(self, memory: SentRequests, way: EnvelopeWay, numbers: Iterable[int]) -> None:
        for n in numbers:
            way.open.pop(n, None)
            memory.asked.pop(n, None)
        if not way.open:
            self._close(way)

    def _close(self, way: EnvelopeWay) -> None:
        for uuid in way.nodes:
            ways = self._at.get(uuid)
            if ways is not None:
                ways.pop(way, None)
                if not ways:
                    del self._at[uuid]

    # --- replies ----------------------------------------------------------------------------------------

    def deliver_replies(self, uuid: bytes, e: Envelope) -> None:
        """Deliver the replies of that node to their requester; unexpected replies are dropped."""
        memory, site = self.streams.get(e.stream), site_of(e.sender)
        wanted: list[int] = []
        implied: list[int] = []  # numbers without an answer so far
        came: dict[EnvelopeWay, list[int]] = {}
        here = self._at.get(uuid, {})
        if memory is not None:
            for index, n in enumerate(e.number_list(range(e.count))):
                way = memory.asked.get(n) or memory.unanswered.get(n)
                if way is None or way not in here or not way.is_request or e.to != way.sender:
                    continue
                if site and site != site_of(way.to):  # a site speaks only for itself
                    continue
                wanted.append(index)
                came.setdefault(way, []).append(index)
                if way.is_for_all:
                    way.heard.setdefault(n, []).append(uuid)
                    self._finish(memory, way, (n,))
                else:
                    if n in memory.unanswered:
                        self._imply(memory, way, n)
                        implied.append(n)
                    self._drop(memory, way, (n,))
        for way, places in came.items():
            self.faring.count_replies(uuid, way, e, places)
            self._heard_of(way, len(places), is_done=True)
        if len(wanted) < e.count:
            self._context.counters.count("late_replies", e.count - len(wanted))
        if wanted and not self._offer(e.stream, e.cut(wanted)):
            for first, last in runs(implied):
                self._sessions.owe(self._sessions.by_stream[e.stream], Answer(SENDS, first, last, matched=1))

    def _offer(self, stream: bytes, envelope: Envelope) -> bool:
        """Offer a reply to the requester; return `False` if a full feed dropped it."""
        if (guest := self.guests.get(stream)) is not None:
            guest(envelope)
            return True
        session = self._sessions.by_stream.get(stream)
        return session is None or self.arriving.offer(session, envelope)

    def _imply(self, memory: SentRequests, way: EnvelopeWay, n: int) -> None:
        """Record a request as accepted, as its reply came first; the sender gets only the reply."""
        memory.record_answer(n, "OK", "")
        self._context.counters.accounts.count_answer(way.stream, Answer(SENDS, n, n, matched=1))
        self.faring.count_answers(way, 1, "OK")

    def _fail(self, memory: SentRequests, way: EnvelopeWay, numbers: list[int], code: str, text: str) -> None:
        """Reply to accepted requests with an error in the name of the mesh."""
        if numbers:
            self._offer(way.stream, refusal(way.stream, sorted(numbers), way.sender, code, text))
        self.faring.count_failed(way, len(numbers), code)
        self._heard_of(way, len(numbers), is_done=False)
        self._drop(memory, way, numbers)

    # --- losses -----------------------------------------------------------------------------------------

    def on_node_lost(self, uuid: bytes) -> None:
        """Handle the loss of a node or its connection.

        Messages at that node may have been handled, so they fail with HANDLER_LOST. Messages that were
        not sent yet go to another node. A message to all consumers still gets the replies of the other nodes.
        """
        name = self.faring.name(uuid)
        unsent = {(e.stream, e.first) for e in self._departing.take_back(uuid)}
        for way in list(self._at.pop(uuid, ())):
            memory = self.streams.get(way.stream)
            if memory is None:
                continue
            numbers = list(way.open)
            text = f"Node {name} left or disconnected before a reply. The request may have run there."
            if way.is_for_all:
                self._lost_for_all(memory, way, uuid, text)
            elif way.envelope is not None and (way.stream, way.envelope.first) in unsent:
                self._reschedule(memory, way, uuid, numbers)
            else:
                waiting = [n for n in numbers if n in memory.unanswered]
                self._answer_messages(memory, way, waiting, Answer("", 1, 1, LOST, text=text))
                self._fail(memory, way, [n for n in numbers if n in memory.asked], LOST, text)

    def _lost_for_all(self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, text: str) -> None:
        """Fail each reply that the lost node owes; at most one if it did not report how many it owes."""
        owed = way.nodes[uuid]
        if owed is None:
            has_others = any(count != 0 for other, count in way.nodes.items() if other != uuid)
            way.is_lost, owed = True, int(way.is_request and has_others)
            way.nodes[uuid] = owed
            self._told_by_all(memory, way)
        for n in list(way.open):
            heard = way.heard.setdefault(n, [])
            for _ in range(owed - heard.count(uuid)):
                heard.append(uuid)
                self.faring.owed(way, uuid, LOST)
                self._offer(way.stream, refusal(way.stream, [n], way.sender, LOST, text))
        self._finish(memory, way, list(way.open))

    def load(self, stream: bytes) -> tuple[Set[int], int]:
        """Return the numbers of the open messages of a stream, and their bytes."""
        memory = self.streams.get(stream)
        if memory is None:
            return frozenset(), 0
        size = sum(len(envelope.body) for envelope in memory.open_envelopes())
        return memory.unanswered.keys() | memory.asked.keys(), size

    def cut_off(self, stream: bytes) -> None:
        """Give up all open messages of a stream whose session uses too much memory.

        Some of the messages may have been handled.
        """
        memory = self.streams.get(stream)
        if memory is None:
            return
        text = "The client exceeded the limit of bytes at its node. The request may have run."
        for way in dict.fromkeys([*memory.unanswered.values(), *memory.asked.values()]):
            if way is not None:
                numbers = list(way.open)
                waiting = [n for n in numbers if n in memory.unanswered]
                self._answer_messages(memory, way, waiting, Answer("", 1, 1, LOST, text=text))
                self._fail(memory, way, [n for n in numbers if n in memory.asked], LOST, text)

    def drop_session(self, stream: bytes) -> None:
        memory = self.streams.pop(stream, None)
        if memory is not None:
            for way in {*memory.asked.values(), *memory.unanswered.values()} - {None}:
                if way is not None:
                    self._heard_of(way, len(way.open), is_done=False)
                    self._close(way)

    def sweep(self) -> None:
        """Forget accepted requests without a reply within 5 s after their deadline."""
        if self._context.clock.now - self._swept < SWEEP:
            return
        self._swept = self._context.clock.now
        for ways in list(self._at.values()):
            for way in [way for way in ways if way.until + SWEEP < self._context.clock.now]:
                memory = self.streams.get(way.stream)
                if memory is not None:
                    late = [n for n in way.open if n in memory.asked]
                    if not way.is_for_all:  # the number of replies is unknown
                        self.faring.count_failed(way, len(late), "EXPIRED")
                    self._heard_of(way, len(late), is_done=False)
                    self._drop(memory, way, late)


def _has_others(way: EnvelopeWay) -> bool:
    """Return whether another node may be tried.

    A message for another site is not tried again, as that site chooses between its own nodes.
    """
    return way.tries < TRIES and not site_of(way.to)
