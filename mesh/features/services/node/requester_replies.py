"""Answers and replies to the senders of messages to addresses: clients here, and sessions of other sites."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.features.services.model.replies import refusal
from mesh.features.services.model.sent_requests import SentRequests
from mesh.features.services.node.arriving import RequestFeeds
from mesh.features.services.node.hints import Hints
from mesh.features.services.node.service_stats import ServiceStats
from mesh.features.services.node.serving_replies import NOBODY
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.sessions import Sessions
from mesh.names import SENDS
from mesh.wire.commands import Answer
from mesh.wire.envelope import Envelope, runs


class RequesterReplies:
    """The way back to the senders: the reply feeds of clients here, and the callbacks of other sites.

    `guests` has the reply callbacks, by stream of another site.
    """

    def __init__(self, context: NodeContext, sessions: Sessions, hints: Hints, faring: ServiceStats) -> None:
        self._context = context
        self._sessions = sessions
        self._hints = hints
        self._faring = faring
        self.arriving = RequestFeeds(context, sessions)
        self.guests: dict[bytes, Callable[[Envelope], None]] = {}

    def report_answer(self, memory: SentRequests, stream: bytes, numbers: Sequence[int], a: Answer) -> None:
        """Send the answer to messages of a stream, and remember it for resent ones."""
        for n in numbers:
            memory.record_answer(n, a.state, a.text)
        for first, last in runs(numbers):
            self._sessions.answer_client(stream, Answer(SENDS, first, last, a.state, a.matched, a.text))

    def refuse_all(self, memory: SentRequests, e: Envelope, code: str, text: str) -> None:
        """Refuse the messages of an envelope; messages that were answered before keep their answer."""
        self._context.counters.add_count("refused", e.count)
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
        self._faring.nobody(e, NOBODY)
        taken = [n for n in numbers if memory.was_taken(n)]
        for n in taken:
            memory.unanswered.pop(n, None)
        if taken:
            self.offer_reply(e.stream, refusal(e.stream, taken, e.sender, NOBODY, text))
        others = [n for n in numbers if n not in taken]
        self.report_answer(memory, e.stream, others, Answer("", 1, 1, NOBODY, text=text))

    def offer_reply(self, stream: bytes, envelope: Envelope) -> bool:
        """Offer a reply to the requester; return `False` if a full feed dropped it."""
        if (guest := self.guests.get(stream)) is not None:
            guest(envelope)
            return True
        session = self._sessions.by_stream.get(stream)
        return session is None or self.arriving.offer_reply(session, envelope)

    def owe(self, stream: bytes, answer: Answer) -> None:
        """Give a client here the answer to requests whose reply was dropped."""
        self._sessions.owe(self._sessions.by_stream[stream], answer)
