"""Returns answers and replies to the senders of messages for addresses here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.presence.facts import RequestAnswered
from mesh.kernel.subscribers.session import merged
from mesh.routing.requester import Requester
from mesh.wire.commands import Answer, Outcome, Respond, Sent
from mesh.wire.envelope import Envelope
from mesh.wire.envelope_batches import TimedEnvelopes, batches
from mesh.wire.frames import body_frames

OUTCOMES = 256  # in one message
HOLD = 0.05  # s that a lone OK waits for its reply


class ReplyBatch:
    """Collects answers and replies during an event.

    `here` contains those for clients of this node, and for clients of sites whose gateway is this node.
    `peer` returns the peer of a uuid. A reply implies that its request was accepted, so the OK of a lone
    request waits up to 50 ms for the reply, which replaces the OK. The next answer of the stream ends this
    wait.
    """

    def __init__(self, context: NodeContext, peer: Callable[[bytes], Peer | None]) -> None:
        self._context = context
        self._peer = peer
        self.here: deque[tuple[bytes, Answer] | Envelope] = deque()
        self._outcomes: dict[bytes, dict[bytes, list[Answer]]] = {}  # by peer and stream
        self._replies: dict[bytes, TimedEnvelopes] = {}
        # One answer per stream, with its deadline.
        self._held: dict[tuple[Requester, bytes], tuple[Answer, float]] = {}

    def outcome(self, requester: Requester, stream: bytes, answer: Answer, may_wait: bool = False) -> None:
        """Queue the answer to messages of a stream.

        `may_wait` lets an answer to a single message wait for the reply to that message.
        """
        held = self._held.pop((requester, stream), None)
        if held is not None:
            self._add_outcome(requester, stream, held[0])
        if may_wait and answer.first == answer.last:
            until = self._context.clock.now + HOLD
            self._held[requester, stream] = answer, until
            self._context.clock.wake(until)
        else:
            self._add_outcome(requester, stream, answer)

    def tick(self) -> None:
        """Send the answers that have waited long enough."""
        while self._held:
            (requester, stream), (answer, until) = next(iter(self._held.items()))
            if until > self._context.clock.now:
                self._context.clock.wake(until)
                break
            del self._held[requester, stream]
            self._add_outcome(requester, stream, answer)

    def _add_outcome(self, requester: Requester, stream: bytes, answer: Answer) -> None:
        if requester.peer is not None:
            self._outcomes.setdefault(requester.peer, {}).setdefault(stream, []).append(answer)
            self._context.out.ending[self._flush] = None
        else:
            self.here.append((stream, answer))
            self._context.facts.publish_last(RequestAnswered())

    def add_reply(self, requester: Requester, envelope: Envelope) -> None:
        """Queue a reply to requests, in place of an OK that waits for the reply."""
        held = self._held.get((requester, envelope.stream))
        if held is not None and held[0].first in envelope.number_list(range(envelope.count)):
            del self._held[requester, envelope.stream]
        if requester.peer is not None:
            self._replies.setdefault(requester.peer, []).append((envelope, 0))
            self._context.out.ending[self._flush] = None
        else:
            self.here.append(envelope)
            self._context.facts.publish_last(RequestAnswered())

    def _flush(self) -> None:
        """Send all answers and replies. Those for disconnected peers are dropped."""
        for uuid, streams in self._outcomes.items():
            outcomes = [Outcome(s, answer) for s, answers in streams.items() for answer in merged(answers)]
            for at in range(0, len(outcomes), OUTCOMES):
                self._send(uuid, Sent(tuple(outcomes[at : at + OUTCOMES])))
        self._outcomes.clear()
        for uuid, envelopes in self._replies.items():
            for batch in batches(envelopes):
                whole = [envelope for envelope, _ in batch]
                self._send(uuid, Respond(tuple(map(body_frames, whole))), whole)
        self._replies.clear()

    def _send(self, uuid: bytes, command: Sent | Respond, envelopes: list[Envelope] | None = None) -> None:
        peer = self._peer(uuid)
        if peer is not None:
            self._context.out.send(peer.data, command, envelopes or ())
