"""Records of the pieces received from other nodes, by queue and source, in memory and on disk."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from mesh.errors import MeshError
from mesh.features.queues.model.moves.transfer import IncomingPieces
from mesh.features.queues.node.keeping.rows import RowsOf
from mesh.features.queues.wire import Transfer
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.envelope import Envelope
from mesh.wire.limits import TRANSFERS_BYTES, TRANSFERS_OPEN

MOST = 1_000  # sources of one queue

TransferMessage = tuple[Conn, Transfer, list[Envelope]]


class TransferSource:
    """The state of the moves from one node into one queue."""

    def __init__(self, incoming: IncomingPieces) -> None:
        self.incoming = incoming
        self.is_stored = False  # has a row on disk
        self.is_busy = False  # a commit is in progress
        self.waiting: deque[TransferMessage] = deque()
        self.asked: dict[int, Conn] = {}  # receivers of answers, by number

    @property
    def is_idle(self) -> bool:
        return not (self.is_busy or self.waiting or self.asked)

    def has_room(self) -> bool:
        """Return whether more pieces may wait.

        A source that observes the limits never uses all of this room.
        """
        sizes = [len(e.body) for _, _, envelopes in self.waiting for e in envelopes]
        return len(sizes) < 2 * TRANSFERS_OPEN and sum(sizes) < 4 * TRANSFERS_BYTES


class TransferSources:
    """The sources of all queues of this node, least recently used first in each queue."""

    def __init__(self, context: NodeContext, stores: RowsOf) -> None:
        self._context = context
        self._stores = stores
        self._all: dict[str, dict[bytes, TransferSource]] = {}

    def __iter__(self) -> Iterator[tuple[str, bytes, TransferSource]]:
        return iter([(name, uuid, it) for name, of in self._all.items() for uuid, it in of.items()])

    def start(self, beginning: Beginning) -> None:
        """Restore the sources from the disk, and drop unreadable rows with a warning.

        After an accepted rollback of the store the rows may lack numbers, so a repeated piece counts as a
        possible duplicate.
        """
        is_sure = not self._context.settings.accept_rollback
        for rows in self._stores:
            for name, uuid, row in rows.moved_rows(beginning):
                try:
                    source = TransferSource(IncomingPieces.unpack(row, is_sure))
                except MeshError as error:
                    self._context.out.log_line(
                        "warning", f"the record of messages that moved into {name!r} is damaged: {error}"
                    )
                    rows.source(name, uuid, b"")
                    continue
                source.is_stored = True
                self._all.setdefault(name, {})[uuid] = source
                if not is_sure:
                    rows.source(name, uuid, source.incoming.pack())

    def source_of(self, name: str, uuid: bytes) -> TransferSource:
        """Return the source, created if necessary, and make it the most recently used."""
        sources = self._all.setdefault(name, {})
        source = sources.pop(uuid, None)
        if source is None:
            source = TransferSource(IncomingPieces())
            if len(sources) >= MOST:
                self._forget_one(name, sources)
        sources[uuid] = source
        return source

    def find_source(self, name: str, uuid: bytes) -> TransferSource | None:
        return self._all.get(name, {}).get(uuid)

    def _forget_one(self, name: str, sources: dict[bytes, TransferSource]) -> None:
        """Forget the least recently used idle source.

        Pieces that the forgotten source sends again later count as possible duplicates.
        """
        idle = next((uuid for uuid, source in sources.items() if source.is_idle), None)
        if idle is not None:
            self.drop(name, idle)

    def tidy(self, name: str, uuid: bytes) -> None:
        """Forget an idle source without a row and without accepted pieces."""
        source = self.find_source(name, uuid)
        if source is not None and source.is_idle and not source.is_stored and not source.incoming:
            self.drop(name, uuid)

    def drop(self, name: str, uuid: bytes) -> None:
        """Forget the source, and delete its row."""
        source = self._all[name].pop(uuid)
        if source.is_stored:
            self._stores.rows_of(name).source(name, uuid, b"")
        if not self._all[name]:
            del self._all[name]
