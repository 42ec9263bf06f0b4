"""Ends messages to addresses that get no outcome: after a lost node, a closed session, or the deadline."""

from __future__ import annotations

from mesh.features.services.model.replies import refusal
from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests
from mesh.features.services.node.open_requests import OpenRequests
from mesh.features.services.node.request_batch import RequestBatch
from mesh.features.services.node.request_outcomes import RequestOutcomes
from mesh.features.services.node.requester_replies import RequesterReplies
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving_replies import LOST
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.commands import Answer

SWEEP = 5.0  # s between two scans for expired requests


class RequestLosses:
    """The failures of open messages that no node reports, for as long as the node runs."""

    def __init__(
        self,
        context: NodeContext,
        open_requests: OpenRequests,
        outcomes: RequestOutcomes,
        requester: RequesterReplies,
        departing: RequestBatch,
        faring: ServiceStats,
    ) -> None:
        self._context = context
        self._open = open_requests
        self._outcomes = outcomes
        self._requester = requester
        self._departing = departing
        self._faring = faring
        self._swept = 0.0

    def on_node_lost(self, uuid: bytes) -> None:
        """Handle the loss of a node or its connection.

        Messages at that node may have been handled, so they fail with HANDLER_LOST. Messages that were
        not sent yet go to another node. A message to all consumers still gets the replies of the other nodes.
        """
        name = self._faring.name(uuid)
        unsent = {(e.stream, e.first) for e in self._departing.take_back(uuid)}
        for way in list(self._open.at.pop(uuid, ())):
            memory = self._open.streams.get(way.stream)
            if memory is None:
                continue
            numbers = list(way.open)
            text = f"Node {name} left or disconnected before a reply. The request may have run there."
            if way.is_for_all:
                self._lost_for_all(memory, way, uuid, text)
            elif way.envelope is not None and (way.stream, way.envelope.first) in unsent:
                self._outcomes.reschedule(memory, way, uuid, numbers)
            else:
                waiting = [n for n in numbers if n in memory.unanswered]
                self._outcomes.answer_messages(memory, way, waiting, Answer("", 1, 1, LOST, text=text))
                self._outcomes.fail_requests(
                    memory, way, [n for n in numbers if n in memory.asked], LOST, text
                )

    def _lost_for_all(self, memory: SentRequests, way: EnvelopeWay, uuid: bytes, text: str) -> None:
        """Fail each reply that the lost node owes; at most one if it did not report how many it owes."""
        owed = way.nodes[uuid]
        if owed is None:
            has_others = any(count != 0 for other, count in way.nodes.items() if other != uuid)
            way.is_lost, owed = True, int(way.is_request and has_others)
            way.nodes[uuid] = owed
            self._outcomes.answer_for_all(memory, way)
        for n in list(way.open):
            heard = way.heard.setdefault(n, [])
            for _ in range(owed - heard.count(uuid)):
                heard.append(uuid)
                self._faring.owed(way, uuid, LOST)
                self._requester.offer_reply(way.stream, refusal(way.stream, [n], way.sender, LOST, text))
        self._outcomes.finish(memory, way, list(way.open))

    def cut_off(self, stream: bytes) -> None:
        """Give up all open messages of a stream whose session uses too much memory.

        Some of the messages may have been handled.
        """
        memory = self._open.streams.get(stream)
        if memory is None:
            return
        text = "The client exceeded the limit of bytes at its node. The request may have run."
        for way in dict.fromkeys([*memory.unanswered.values(), *memory.asked.values()]):
            if way is not None:
                numbers = list(way.open)
                waiting = [n for n in numbers if n in memory.unanswered]
                self._outcomes.answer_messages(memory, way, waiting, Answer("", 1, 1, LOST, text=text))
                self._outcomes.fail_requests(
                    memory, way, [n for n in numbers if n in memory.asked], LOST, text
                )

    def drop_session(self, stream: bytes) -> None:
        """Forget the open messages of a stream whose session was closed."""
        memory = self._open.streams.pop(stream, None)
        if memory is not None:
            for way in {*memory.asked.values(), *memory.unanswered.values()} - {None}:
                if way is not None:
                    self._outcomes.report_to_strategies(way, len(way.open), is_done=False)
                    self._open.close(way)

    def sweep(self) -> None:
        """Forget accepted requests without a reply within 5 s after their deadline."""
        if self._context.clock.now - self._swept < SWEEP:
            return
        self._swept = self._context.clock.now
        for ways in list(self._open.at.values()):
            for way in [way for way in ways if way.until + SWEEP < self._context.clock.now]:
                memory = self._open.streams.get(way.stream)
                if memory is not None:
                    late = [n for n in way.open if n in memory.asked]
                    if not way.is_for_all:  # the number of replies is unknown
                        self._faring.count_failed(way, len(late), "EXPIRED")
                    self._outcomes.report_to_strategies(way, len(late), is_done=False)
                    self._open.drop(memory, way, late)
