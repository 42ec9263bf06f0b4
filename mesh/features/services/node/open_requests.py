"""Messages to addresses without a final outcome, by the stream of their sender and by destination node."""

from __future__ import annotations

from collections.abc import Iterable, Set

from mesh.features.services.model.sent_requests import EnvelopeWay, SentRequests


class OpenRequests:
    """The open messages to addresses of the clients here, and of sessions of other sites.

    `streams` has the memory of each sender until its session is closed, and `at` the envelopes that are open
    at each node, by uuid.
    """

    def __init__(self) -> None:
        self.streams: dict[bytes, SentRequests] = {}
        self.at: dict[bytes, dict[EnvelopeWay, None]] = {}

    def memory(self, stream: bytes) -> SentRequests:
        """Return the memory of a client's messages to addresses, created if necessary."""
        memory = self.streams.get(stream)
        if memory is None:
            memory = self.streams[stream] = SentRequests()
        return memory

    def register(self, memory: SentRequests, way: EnvelopeWay) -> None:
        """Register an envelope that is about to be sent to its nodes."""
        memory.unanswered.update(dict.fromkeys(way.open, way))
        for uuid in way.nodes:
            self.at.setdefault(uuid, {})[way] = None

    def drop(self, memory: SentRequests, way: EnvelopeWay, numbers: Iterable[int]) -> None:
        """Close messages of an envelope, which have their outcome."""
        for n in numbers:
            way.open.pop(n, None)
            memory.asked.pop(n, None)
        if not way.open:
            self.close(way)

    def close(self, way: EnvelopeWay) -> None:
        """Forget at which nodes an envelope is open."""
        for uuid in way.nodes:
            ways = self.at.get(uuid)
            if ways is not None:
                ways.pop(way, None)
                if not ways:
                    del self.at[uuid]

    def open_numbers(self, stream: bytes) -> tuple[Set[int], int]:
        """Return the numbers of the open messages of a stream, and their bytes."""
        memory = self.streams.get(stream)
        if memory is None:
            return frozenset(), 0
        size = sum(len(envelope.body) for envelope in memory.open_envelopes())
        return memory.unanswered.keys() | memory.asked.keys(), size
