"""Tracks messages that clients here, or in other sites, sent to addresses: answers, replies, losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.features.services.model.replies import refusal
from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests
from mesh.features.services.node.hints import Hints
from mesh.features.services.node.open_requests import OpenRequests
from mesh.features.services.node.requester_replies import RequesterReplies
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving_replies import LOST, NOBODY
from mesh.features.services.node.strategies import NodeStrategies
from mesh.hops import site_of
from mesh.kernel.context.node_context import NodeContext
from mesh.names import SENDS
from mesh.streams.ranges import numbers_within
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope, runs

TRIES = 3  # further nodes tried after NO_HANDLERS

# Callback that chooses a new destination. Arguments: the memory of the sender, the messages, their deadline,
# the number of attempts so far, and the nodes that were tried.
Again = Callable[[SentRequests, Envelope, float, int, frozenset[bytes]], None]


class RequestOutcomes:
    """The outcomes of open messages to addresses: answers and replies of the nodes to which they were sent.

    `again` is called with messages that need another node, because no consumer there has started them.
    """

    def __init__(
        self,
        context: NodeContext,
        open_requests: OpenRequests,
        requester: RequesterReplies,
        faring: ServiceStats,
        strategies: NodeStrategies,
        hints: Hints,
        again: Again,
    ) -> None:
        self._context = context
        self._open = open_requests
        self._requester = requester
        self._faring = faring
        self._strategies = strategies
        self._hints = hints
        self._choose = again

    # --- answers ----------------------------------------------------------------------------------------

    def outcome(self, uuid: bytes, stream: bytes, a: Answer) -> None:
        """Apply the answer of a node to messages of a stream."""
        memory = self._open.streams.get(stream)
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
            self._context.counters.add_count("unasked")
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
            self._context.counters.add_count("unasked")
        for way, numbers in found.items():
            if a.state == NOBODY and _has_others(way):
                self.reschedule(memory, way, uuid, numbers)
            else:
                self.fail_requests(memory, way, numbers, a.state, a.text)

    def _on_answer(
        self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, numbers: list[int], a: Answer
    ) -> None:
        if way.is_for_all:
            way.nodes[uuid] = a.matched if a.state == "OK" else 0
            way.is_lost = way.is_lost or a.state == LOST
            way.refusal = a if a.state not in ("OK", LOST, NOBODY) else way.refusal
            self.answer_for_all(memory, way)
        elif a.state == NOBODY and _has_others(way) and way.envelope is not None:
            self.reschedule(memory, way, uuid, numbers)
        else:
            self.answer_messages(memory, way, numbers, a)

    def answer_for_all(self, memory: SentRequests, way: EnvelopeWay) -> None:
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
        self.answer_messages(memory, way, [n for n in way.open if n in memory.unanswered], answer)
        self.finish(memory, way, list(way.open))

    def finish(self, memory: SentRequests, way: EnvelopeWay, numbers: Sequence[int]) -> None:
        """Close a request to all consumers when each of them has replied."""
        if way.matched:
            self._open.drop(memory, way, [n for n in numbers if len(way.heard.get(n, ())) >= way.matched])

    def reschedule(self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, numbers: list[int]) -> None:
        """Choose another node for messages that no consumer at the node `uuid` has started."""
        e = way.envelope
        assert e is not None
        self.report_to_strategies(way, len(numbers), is_done=False)
        self._open.drop(memory, way, numbers)
        for first, last in runs(numbers):
            memory.unanswered.update(dict.fromkeys(range(first, last + 1)))
            self._choose(memory, e.part(first, last), way.until, way.tries + 1, way.in_vain | {uuid})

    def answer_messages(
        self, memory: SentRequests, way: EnvelopeWay, numbers: Sequence[int], a: Answer
    ) -> None:
        """Answer the messages; accepted requests then wait for their reply."""
        if a.state != "OK" or not way.is_request:
            self.report_to_strategies(way, len(numbers), a.state == "OK")
        self._requester.report_answer(memory, way.stream, numbers, a)
        self._faring.count_answers(way, len(numbers), a.state)
        if a.state == "OK" and way.is_request:
            memory.asked.update(dict.fromkeys(numbers, way))
        else:
            self._open.drop(memory, way, numbers)

    def report_to_strategies(self, way: EnvelopeWay, n: int, is_done: bool) -> None:
        """Report the outcome of n messages to the strategies, unless they were sent to all consumers.

        The latency is the time until acceptance, or until the reply to a request; None means failure.
        """
        for uuid in way.nodes if n and not way.is_for_all else ():
            seconds = self._context.clock.now - way.went if is_done else None
            self._strategies.count_answers(self._faring.name(uuid), n, seconds)

    # --- replies ----------------------------------------------------------------------------------------

    def deliver_replies(self, uuid: bytes, e: Envelope) -> None:
        """Deliver the replies of that node to their requester; unexpected replies are dropped."""
        memory, site = self._open.streams.get(e.stream), site_of(e.sender)
        wanted: list[int] = []
        implied: list[int] = []  # numbers without an answer so far
        came: dict[EnvelopeWay, list[int]] = {}
        here = self._open.at.get(uuid, {})
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
                    self.finish(memory, way, (n,))
                else:
                    if n in memory.unanswered:
                        self._imply(memory, way, n)
                        implied.append(n)
                    self._open.drop(memory, way, (n,))
        for way, places in came.items():
            self._faring.count_replies(uuid, way, e, places)
            self.report_to_strategies(way, len(places), is_done=True)
        if len(wanted) < e.count:
            self._context.counters.add_count("late_replies", e.count - len(wanted))
        if wanted and not self._requester.offer_reply(e.stream, e.cut(wanted)):
            for first, last in runs(implied):
                self._requester.owe(e.stream, Answer(SENDS, first, last, matched=1))

    def _imply(self, memory: SentRequests, way: EnvelopeWay, n: int) -> None:
        """Record a request as accepted, as its reply came first; the sender gets only the reply."""
        memory.record_answer(n, "OK", "")
        self._context.counters.accounts.count_answer(way.stream, Answer(SENDS, n, n, matched=1))
        self._faring.count_answers(way, 1, "OK")

    def fail_requests(
        self, memory: SentRequests, way: EnvelopeWay, numbers: list[int], code: str, text: str
    ) -> None:
        """Reply to accepted requests with an error in the name of the mesh."""
        if numbers:
            self._requester.offer_reply(
                way.stream, refusal(way.stream, sorted(numbers), way.sender, code, text)
            )
        self._faring.count_failed(way, len(numbers), code)
        self.report_to_strategies(way, len(numbers), is_done=False)
        self._open.drop(memory, way, numbers)


def _has_others(way: EnvelopeWay) -> bool:
    """Return whether another node may be tried.

    A message for another site is not tried again, as that site chooses between its own nodes.
    """
    return way.tries < TRIES and not site_of(way.to)
