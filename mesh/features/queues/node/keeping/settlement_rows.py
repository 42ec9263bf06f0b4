"""The rows of settlements that transactions have stored, until they are part of the rows of envelopes."""

# Law: such a row is deleted in the commit that writes or deletes the row of its envelope.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mesh.features.queues.model.envelopes.envelope_row import merged_row
from mesh.features.queues.node.keeping.restored_holds import RestoredHolds
from mesh.operations import Delete, Put
from mesh.routing.store_handle import StoreHandle

PART = "part"  # table
SERIAL = 4  # bytes behind the key of the envelope's row


class SettlementRows:
    """The rows of held settlements in one store."""

    def __init__(self, shelf: StoreHandle) -> None:
        self._shelf = shelf
        self._serial = 0
        self.holds: dict[str, RestoredHolds] = {}  # by queue: for prepared transactions, at the start
        self.awaited = Counter[str]()  # by queue: prepared transactions with puts

    def holds_of(self, name: str, stream: bytes) -> RestoredHolds | None:
        """Return the held messages of a queue, unless none of them is of the stream."""
        holds = self.holds.get(name)
        return holds if holds is not None and holds.has(stream) else None

    def puts(self, name: str, rows: Iterable[tuple[int, bytes]]) -> list[Put]:
        """Return the operations that store `rows`, by the positions of their envelopes."""
        self._serial = (self._serial + 1) % 2 ** (8 * SERIAL)
        serial = self._serial.to_bytes(SERIAL)
        return [Put(PART, place_of(name, position) + serial, row) for position, row in rows]

    def delete(self, puts: Iterable[Put]) -> None:
        """Delete the rows of `puts` with the next commit, which writes the rows of their envelopes."""
        for op in puts:
            self._shelf.later(PART, op.key, Delete(PART, op.key))

    def merge_into(self, envelopes: dict[bytes, bytes]) -> None:
        """Merge the rows that an earlier process has stored into those of their envelopes, by key."""
        for key in [key for key in envelopes if len(key.partition(b"\0")[2]) > 8]:
            changes, place = envelopes.pop(key), key[:-SERIAL]
            row = envelopes[place] = merged_row(envelopes.get(place, b""), changes)
            self._shelf.later(PART, place, Put(PART, place, row))
            self._shelf.later(PART, key, Delete(PART, key))


def place_of(name: str, position: int) -> bytes:
    """Return the key of the row of an envelope."""
    return name.encode() + b"\0" + position.to_bytes(8)
