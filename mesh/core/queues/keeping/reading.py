"""What of a queue is on the disk alone is read when it may be wanted, and leaves when it was purged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mesh.core.desk.desk import Desk
from mesh.core.queues.keeping.rows import Rows
from mesh.errors import MeshError
from mesh.queues.lots.lot import Lot
from mesh.queues.lots.ondisk import Wish
from mesh.queues.part.partial import PartialQueue
from mesh.queues.part.searching import searched, to_search
from mesh.wire.envelope import Envelope

PURGED = 100_000  # envelopes that leave the disk in a second


class PartReading:
    """The same, of one queue's part. `loaded(lots)` is told what is in memory now, and in its turn;
    `changed()` that there may be something to do.
    """

    def __init__(
        self,
        desk: Desk,
        rows: Rows,
        name: str,
        part: PartialQueue,
        loaded: Callable[[list[Lot]], None],
        changed: Callable[[], None],
    ) -> None:
        self._desk = desk
        self._rows = rows
        self._name = name
        self._part = part
        self._loaded = loaded
        self._changed = changed

    def load(self) -> None:
        """Read what may be given out soon, and what somebody may want who found nothing in memory."""
        part, desk = self._part, self._desk
        if not part.takers:
            return
        self._read(part.to_load())
        search = to_search(part, desk.now) if part.seeks else None
        if search is not None:
            found = partial(searched, part, search)
            self._fetch(search.positions, lambda lots: found(lots, desk.now, desk.believed))

    def load_more(self, then: Callable[[], None]) -> bool:
        """Read the next of what waits, whether anybody takes or not; `then` is told. False: all is here, or
        is about to be.
        """
        for line in self._part.lines.values():
            line.first()  # which lets go of those before it
        wish = self._part.to_load()
        self._read(wish, then)
        return wish is not None

    def load_void(self) -> None:
        """Read what has waited too long, to bury it."""
        self._read(self._part.on_disk.void_to_load(self._desk.believed))

    def _read(self, wish: Wish | None, then: Callable[[], None] = lambda: None) -> None:
        if wish is None:
            return
        priority, positions = wish
        part, desk = self._part, self._desk

        def loaded(lots: list[Lot]) -> None:
            part.loaded(priority, lots, desk.now, desk.believed)
            self._loaded(lots)
            then()

        self._fetch(positions, loaded)

    def _fetch(self, positions: Sequence[int], then: Callable[[list[Lot]], None]) -> None:
        """Have `then` told of what stands there."""

        def read(found: dict[int, Envelope] | MeshError) -> None:
            if isinstance(found, MeshError):
                return  # the store is at its end, and so is this node
            me, parcel = self._desk.me.uuid, self._rows.parcel
            then([Lot(parcel(envelope, place, me)) for place, envelope in found.items()])
            self._changed()

        self._rows.read(positions, read)

    def unpage(self) -> bool:
        """What was purged of it leaves the disk, a part at a time; did anything?"""
        positions = self._part.on_disk.take_purged(PURGED)
        rows = self._part.on_disk.rows
        self._rows.drop(self._name, positions, [place for place in positions if rows.pop(place, b"")])
        return bool(positions)
