"""Reads messages of a queue that are on disk only, and deletes purged ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mesh.errors import MeshError
from mesh.features.queues.model.envelopes.disk_index import Wish
from mesh.features.queues.model.envelopes.queued_envelope import QueuedEnvelope
from mesh.features.queues.model.part.local_queue import LocalQueue
from mesh.features.queues.node.keeping.rows import Rows
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.envelope import Envelope

PURGED = 100_000  # envelopes deleted per call, approximately


class PartReading:
    """The disk reads of one local queue.

    `loaded(envelopes)` is called after each read that is not for selectors, and `changed()` after
    every successful read.
    """

    def __init__(
        self,
        context: NodeContext,
        rows: Rows,
        name: str,
        part: LocalQueue,
        loaded: Callable[[list[QueuedEnvelope]], None],
        changed: Callable[[], None],
    ) -> None:
        self._context = context
        self._rows = rows
        self._name = name
        self._part = part
        self._loaded = loaded
        self._changed = changed

    def read_next(self) -> None:
        """Read messages that are next in order or that selectors may match, if the queue has consumers."""
        part, context = self._part, self._context
        if not part.is_consumed:
            return
        self._read(part.order.to_load())
        search = part.search.next_read(context.clock.now) if part.search.seeks else None
        if search is not None:
            found = partial(part.search.finish_read, search)
            self._fetch(
                search.positions,
                lambda envelopes: found(envelopes, context.clock.now, context.clock.believed),
            )

    def load_more(self, then: Callable[[], None]) -> bool:
        """Read the next waiting messages without regard to consumers, and then call `then`.

        Returns `False`, and does not call `then`, if no read is due: for example, while another read is in
        progress or enough messages are in memory.
        """
        self._part.order.trim()
        wish = self._part.order.to_load()
        self._read(wish, then)
        return wish is not None

    def load_void(self) -> None:
        """Read envelopes whose messages have all expired, to dead-letter these messages."""
        self._read(self._part.order.on_disk.void_to_load(self._context.clock.believed))

    def _read(self, wish: Wish | None, then: Callable[[], None] = lambda: None) -> None:
        if wish is None:
            return
        priority, positions = wish
        part, context = self._part, self._context

        def loaded(envelopes: list[QueuedEnvelope]) -> None:
            part.backlog.loaded(priority, envelopes, context.clock.now, context.clock.believed)
            self._loaded(envelopes)
            then()

        self._fetch(positions, loaded)

    def _fetch(self, positions: Sequence[int], then: Callable[[list[QueuedEnvelope]], None]) -> None:
        def read(found: dict[int, Envelope] | MeshError) -> None:
            if isinstance(found, MeshError):
                return  # the store has failed, and the node stops
            me, stored = self._context.me.uuid, self._rows.stored
            then([QueuedEnvelope(stored(envelope, place, me)) for place, envelope in found.items()])
            self._changed()

        self._rows.read_envelopes(positions, read)

    def unpage(self) -> bool:
        """Delete about `PURGED` discarded envelopes with the next commit; return whether there were any."""
        on_disk = self._part.order.on_disk
        positions = on_disk.take_purged(PURGED)
        self._rows.drop(self._name, positions, [place for place in positions if on_disk.rows.pop(place, b"")])
        return bool(positions)
