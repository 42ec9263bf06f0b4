"""Paging of envelopes: which ones wait on disk only, and how they are read again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mesh.errors import MeshError
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.memory import OWN, Memory
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope

# Law 1: an envelope is on disk only if each of its sinks waits for it there.
# Law 2: a sink that is sending or about to send an envelope has its whole slice in memory.
# Law 3: a message keeps its place in its envelope, and the envelope its size, whatever is cut from it on disk
# meanwhile.

Found = dict[int, Envelope] | MeshError
Read = Callable[[Collection[int], Callable[[Found], None]], None]


class Paging:
    """The paging of the node with uuid `master`, whose disk has only messages of its own log.

    `read` is `Disk.fetch`.
    """

    def __init__(self, memory: Memory, master: bytes, read: Read) -> None:
        self._read = read
        self._memory = memory
        self._master = master
        # By position, with the sinks that need it. A stored envelope with one waiting sink need not be here.
        self._shared: dict[int, StoredEnvelope] = {}

    def is_full_for(self, stored: StoredEnvelope) -> bool:
        return self._memory.has_no_room(stored.size + OWN)

    def count_in_memory(self, stored: StoredEnvelope, sign: int) -> None:
        """Add (`sign` +1) or subtract (-1) the bytes of a stored envelope that waits in memory.

        An envelope counts once for each sink that waits for it.
        """
        self._memory.used += sign * (stored.size + OWN)

    def page_out(self, stored: StoredEnvelope) -> None:
        """Record that a sink waits for the stored envelope on disk, if other sinks share the object."""
        if stored.owed > 1 or stored.shares is not None:
            self.rest(stored)

    def rest(self, stored: StoredEnvelope) -> None:
        """Record that a sink that keeps the stored envelope object waits for it on disk."""
        self._shared[stored.position] = stored
        stored.paged += 1
        stored.give_away()

    def page_in(self, position: int, size: int, stub: Envelope) -> StoredEnvelope:
        """Return the stored envelope at this position for one of its sinks.

        If no other sink shares it, `stub` stands for its envelope until the envelope is read.
        """
        stored = self._shared.get(position)
        if stored is None:
            lacks = size - 64 * stub.count
            return StoredEnvelope(stub, position, self._master, own=True, owed=1, lacks=lacks)
        self.drop_waiting(stored)
        return stored

    def drop_waiting(self, stored: StoredEnvelope) -> None:
        """Record that a sink no longer waits for the stored envelope on disk."""
        stored.paged -= 1
        if not stored.paged:
            del self._shared[stored.position]

    def have(self, slices: Sequence[EnvelopeSlice], then: Callable[[list[EnvelopeSlice]], None]) -> None:
        """Call `then` with the slices when their envelopes are in memory, perhaps before this method returns.

        Slices that the store has lost are left out. If the store fails, `then` is not called.
        """
        lacking = [slice_.stored for slice_ in slices if not slice_.stored.is_here]

        def read(found: Found) -> None:
            if isinstance(found, MeshError):
                return  # the store has failed, and the node stops
            for stored in lacking:
                is_wanted = stored.paged < stored.owed and not stored.is_here  # may have changed
                if is_wanted and stored.position in found:
                    stored.found(found[stored.position])
            then([slice_ for slice_ in slices if slice_.stored.is_here])

        if lacking:
            self._read([stored.position for stored in lacking], read)
        else:
            then(list(slices))
