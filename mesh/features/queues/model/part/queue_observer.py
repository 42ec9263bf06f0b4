"""The observer protocol of a queue's part, which the simulator implements."""

# Law: an event is reported just before the local queue counts its messages in their new state. Only `purged`
# is reported afterwards.

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.envelopes.counts import Runs
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope


class QueueObserver(Protocol):
    """An observer of a local queue; without an observer, each event costs a single test."""

    def adds(self, queued: QueuedEnvelope) -> None:
        """Observe an envelope that is added and waits in memory."""

    def keeps(self, queued: QueuedEnvelope) -> None:
        """Observe an envelope that is kept in memory."""

    def pages(self, queued: QueuedEnvelope) -> None:
        """Observe an envelope that is added and waits on disk only."""

    def pages_plain(self, stored: StoredEnvelope) -> None:
        """Observe a new envelope that is added on disk only."""

    def puts_back(self, queued: QueuedEnvelope) -> None:
        """Observe an envelope that is evicted to disk."""

    def voids(self, runs: Runs) -> None:
        """Observe messages that are done because a purge occurred while they were read."""

    def purges(self) -> None:
        """Observe the start of a purge of all ready and delayed messages."""

    def purged(self, messages: int) -> None:
        """Observe the end of a purge of `messages` messages."""

    def gives(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        """Observe messages that are sent to a consumer."""

    def redistributes(self, pieces: Iterable[tuple[QueuedEnvelope, Runs]]) -> None:
        """Observe pieces that may move next because they have waited too long here."""

    def goes(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        """Observe messages that start to move to `node`."""

    def went(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        """Observe messages that `node` has accepted."""

    def transfer_refused(self, queued: QueuedEnvelope, runs: Runs, node: bytes) -> None:
        """Observe messages that `node` has refused, before the refusal is stored."""

    def came_back(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Observe refused messages that become ready again, after the refusal is stored."""

    def gave_up(self, queued: QueuedEnvelope, runs: Runs) -> None:
        """Observe messages of a refused move that are discarded because the queue was removed."""

    def comes(self, queued: QueuedEnvelope) -> None:
        """Observe an envelope that has arrived from another node."""

    def has_no_room(self, where: str) -> None:
        """Observe a move that fails because its record does not fit on disk."""
