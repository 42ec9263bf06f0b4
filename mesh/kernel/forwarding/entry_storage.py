"""Stored envelopes of the outbound buffer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mesh.errors import MeshError
from mesh.kernel.context.disk import Disk
from mesh.kernel.forwarding.copy_marker import tailed
from mesh.routing.pending_forward import PendingForward
from mesh.routing.store_handle import StoreHandle
from mesh.routing.stored_envelope import StoredEnvelope


class EntryStorage:
    """The stored envelopes of one outbound buffer. Entries that were one entry share an envelope."""

    def __init__(self, disk: Disk, shelf: StoreHandle) -> None:
        self._disk, self._shelf = disk, shelf
        self._storing: dict[PendingForward, list[PendingForward]] = {}  # value: all parts of its envelope
        self._shared: dict[int, int] = {}  # by position: entries of one stored envelope, if several

    def store(
        self, entry: PendingForward, then: Callable[[PendingForward, int, MeshError | None], None]
    ) -> None:
        """Store the envelope of an entry.

        `then` is called with the entry, or with each of its parts if it was replaced, and with the position
        and the error of the commit.
        """
        stored = StoredEnvelope(tailed(entry), own=True)
        op = self._shelf.append_envelope(stored)
        storing = self._storing[entry] = [entry]

        def on_stored(error: MeshError | None) -> None:
            if len(storing) > 1:
                self._shared[stored.position] = len(storing)
            for each in storing:
                del self._storing[each]
                then(each, stored.position, error)

        self._disk.commit((op,), on_stored)

    def replace_entry(self, entry: PendingForward, parts: Sequence[PendingForward]) -> None:
        """Share the stored envelope of an entry, if any, among its parts."""
        if entry.position:
            self._shared[entry.position] = self._shared.pop(entry.position, 1) - 1 + len(parts)
        if (storing := self._storing.pop(entry, None)) is not None:
            storing.remove(entry)
            storing += parts
            self._storing.update(dict.fromkeys(parts, storing))

    def release_share(self, position: int) -> bool:
        """Release an entry's share of a stored envelope, and return whether the envelope was deleted."""
        others = self._shared.pop(position, 1) - 1
        if others:
            self._shared[position] = others
        else:
            self._shelf.drop_position(position)
        return not others
