"""Answers, replies and error replies of the addresses served here to their requesters."""

from __future__ import annotations

from mesh.features.services.model.replies import refusal, replies
from mesh.features.services.model.work import GivenRun, QueuedRequests, Server
from mesh.flow.outstanding_deliveries import spans_of
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.routing.requester import Requester
from mesh.wire.commands import Answer, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.properties import check_properties

LOST, NOBODY, LATE, FULL = "HANDLER_LOST", "NO_HANDLERS", "EXPIRED", "ADDRESS_FULL"


class ServingReplies:
    """The way back from the addresses here to their requesters, for as long as the node runs.

    Answers and replies are sent through `back`.
    """

    def __init__(self, context: NodeContext, back: ReplyBatch) -> None:
        self._context = context
        self._back = back
        self.replied = 0  # messages settled with a reply

    def refuse_work(self, work: QueuedRequests, code: str, text: str) -> None:
        """Refuse the messages that were not delivered."""
        self.answer_work(work, work.at, work.envelope.count, Answer("", 1, 1, code, text=text))

    def answer_work(
        self, work: QueuedRequests, start: int, end: int, answer: Answer, may_wait: bool = False
    ) -> None:
        """Answer the messages at the indices `start` to `end` - 1.

        With `may_wait`, the answer may wait for the reply.
        """
        for part in work.answers(start, end, answer):
            self._back.outcome(work.requester, work.envelope.stream, part, may_wait)

    def skip(self, work: QueuedRequests, at: int, code: str, text: str) -> None:
        """Send an error reply in place of a consumer that did not get the request.

        Messages other than requests need no reply.
        """
        if work.is_request:
            e = work.envelope
            numbers = e.number_list(range(at, e.count))
            self._back.add_reply(work.requester, refusal(e.stream, numbers, e.sender, code, text))

    def fail_run(self, run: GivenRun, code: str, text: str) -> None:
        """Send an error reply to each request of the run; messages other than requests need no reply."""
        if run.work.is_request:
            e = run.work.envelope
            self._back.add_reply(run.work.requester, refusal(e.stream, run.numbers(), e.sender, code, text))

    def send_replies(self, server: Server, command: Settle, contents: Envelope) -> None:
        """Settle the deliveries with a reply, and send the replies."""
        if contents.props:
            check_properties(contents)
        asked: dict[tuple[Requester, bytes], list[tuple[int, int]]] = {}
        to: dict[bytes, str] = {}
        for start, first, last in spans_of(command.replied):
            for run in server.holding.settle(first, last):
                self.replied += run.n
                if run.work.is_request:
                    e, place = run.work.envelope, start + run.tag - first
                    pairs = zip(run.numbers(), range(place, place + run.n), strict=True)
                    asked.setdefault((run.work.requester, e.stream), []).extend(pairs)
                    to[e.stream] = e.sender
        for (requester, stream), each in asked.items():
            for envelope in replies(
                contents, each, stream, to[stream], server.name, self._context.clock.stamp()
            ):
                self._back.add_reply(requester, envelope)
