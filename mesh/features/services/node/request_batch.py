"""Buffers messages to addresses and groups until they are sent to other nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.wire.envelope import Envelope
from mesh.wire.envelope_batches import TimedEnvelopes, batches, sends


class RequestBatch:
    """The envelopes to be sent when the current event ends, by node."""

    def __init__(self, context: NodeContext, peers: Mapping[bytes, Peer]) -> None:
        self._context = context
        self._peers = peers
        self._due: dict[bytes, TimedEnvelopes] = {}

    def add(self, uuid: bytes, envelope: Envelope, ttl: int) -> None:
        """Queue the envelope for that node; `ttl` is its remaining time in ms, or 0 for no limit."""
        self._due.setdefault(uuid, []).append((envelope, ttl))
        self._context.out.ending[self._flush] = None

    def take_back(self, uuid: bytes) -> Iterator[Envelope]:
        """Remove and return the envelopes that were not sent to that node yet."""
        return (envelope for envelope, _ in self._due.pop(uuid, ()))

    def _flush(self) -> None:
        for uuid, whole in self._due.items():
            data = self._peers[uuid].data
            for batch in batches(whole):
                envelopes = [
                    envelope.passed(self._context.hop(0), self._context.clock.stamp())
                    for envelope, _ in batch
                ]
                self._context.counters.add_count("forwarded", sum(envelope.count for envelope in envelopes))
                self._context.out.send(data, sends(batch), envelopes)
        self._due.clear()
