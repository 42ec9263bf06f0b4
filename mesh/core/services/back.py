"""What goes back to whoever has sent something to an address here: what became of it, and replies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from mesh.core.desk.desk import Desk
from mesh.core.peers.peer import Peer
from mesh.core.services.facts import CameBack
from mesh.core.subscribers.session import merged
from mesh.wire.commands import Answer, Outcome, Respond, Sends, Sent
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPES_A_MESSAGE, FRAMES

OUTCOMES = 256  # in one message
Batch = list[tuple[Envelope, int]]  # with the ms that each still has


class Back:
    """The words that go back, gathered while an event lasts. `here` is for clients of this node."""

    def __init__(self, desk: Desk, peer: Callable[[bytes], Peer | None]) -> None:
        self._desk = desk
        self._peer = peer
        self.here: deque[tuple[bytes, Answer] | Envelope] = deque()
        self._outcomes: dict[bytes, dict[bytes, list[Answer]]] = {}  # by peer and stream
        self._replies: dict[bytes, Batch] = {}

    def outcome(self, source: bytes, stream: bytes, answer: Answer) -> None:
        """That became of messages of a stream; `source`: who brought them, b"" = a client here."""
        if source:
            self._outcomes.setdefault(source, {}).setdefault(stream, []).append(answer)
            self._desk.ending[self._flush] = None
        else:
            self.here.append((stream, answer))
            self._desk.say_last(CameBack())

    def reply(self, source: bytes, envelope: Envelope) -> None:
        """A reply to requests, likewise."""
        if source:
            self._replies.setdefault(source, []).append((envelope, 0))
            self._desk.ending[self._flush] = None
        else:
            self.here.append(envelope)
            self._desk.say_last(CameBack())

    def _flush(self) -> None:
        """Send it; to whom there is no connection it is of no use any more."""
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
            self._desk.send(peer.data, command, envelopes or ())


def batches(envelopes: Batch) -> Iterator[Batch]:
    """In as few messages as they fit in."""
    batch: Batch = []
    size = frames = 0
    for pair in envelopes:
        needs = 1 + body_frames(pair[0])
        is_full = len(batch) >= ENVELOPES_A_MESSAGE or size >= ENVELOPE_BYTES or frames + needs >= FRAMES
        if batch and is_full:
            yield batch
            batch, size, frames = [], 0, 0
        batch.append(pair)
        size, frames = size + len(pair[0].body), frames + needs
    if batch:
        yield batch


def sends(batch: Batch) -> Sends:
    """The command that brings these to a node."""
    ttls = tuple(ttl for _, ttl in batch)
    return Sends(tuple(body_frames(envelope) for envelope, _ in batch), ttls if any(ttls) else ())
