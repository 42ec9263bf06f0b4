"""What waits on the disk alone for those who are owed it, and how does it come back?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from mesh.errors import MeshError
from mesh.routing.memory import OWN, Memory
from mesh.routing.parcel import Parcel
from mesh.routing.portion import Portion
from mesh.wire.envelope import Envelope

# Law 1: an envelope is on the disk alone only if each of those who are still owed it waits for it there.
# Law 2: whoever has it in hand, under way or about to be, has all of it that he is owed in memory.
# Law 3: a message keeps its place in its envelope, and the envelope its size, whatever is cut from it on the
#        disk meanwhile.

Found = dict[int, Envelope] | MeshError
Read = Callable[[Collection[int], Callable[[Found], None]], None]


class Paging:
    """That of one node, whose uuid is `master`: it has on disk only what it is master of. `read` is
    `Disk.fetch`."""

    def __init__(self, memory: Memory, master: bytes, read: Read) -> None:
        self._read = read
        self._memory = memory
        self._master = master
        # By position, with those who still need it. What is owed to one alone, who waits, need not be here.
        self._shared: dict[int, Parcel] = {}

    def is_full_for(self, parcel: Parcel) -> bool:
        """Is there no room for that in memory?"""
        return self._memory.has_no_room(parcel.size + OWN)

    def count(self, parcel: Parcel, sign: int) -> None:
        """It waits in memory; -1: it does so no more. What several wait for counts for each."""
        self._memory.used += sign * (parcel.size + OWN)

    def put(self, parcel: Parcel) -> None:
        """One of those who are owed it waits for it on the disk from now on."""
        if parcel.owed > 1 or parcel.shares is not None:
            self.rest(parcel)

    def rest(self, parcel: Parcel) -> None:
        """The same, of one who keeps the parcel."""
        self._shared[parcel.position] = parcel
        parcel.paged += 1
        parcel.give_away()

    def take(self, position: int, size: int, stub: Envelope) -> Parcel:
        """The parcel of this position, for one of these: he does so no more. Perhaps without its envelope."""
        parcel = self._shared.get(position)
        if parcel is None:
            lacks = size - 64 * stub.count
            return Parcel(stub, position, self._master, own=True, owed=1, lacks=lacks)
        self.wake(parcel)
        return parcel

    def wake(self, parcel: Parcel) -> None:
        """Who kept it waits for the disk no more."""
        parcel.paged -= 1
        if not parcel.paged:
            del self._shared[parcel.position]

    def have(self, portions: Sequence[Portion], then: Callable[[list[Portion]], None]) -> None:
        """Call `then` with these when all their envelopes are in memory, without those that the disk has
        lost."""
        lacking = [portion.parcel for portion in portions if not portion.parcel.is_here]

        def read(found: Found) -> None:
            if isinstance(found, MeshError):
                return  # the store is at its end, and so is this node
            for parcel in lacking:
                is_wanted = parcel.paged < parcel.owed and not parcel.is_here  # still
                if is_wanted and parcel.position in found:
                    parcel.found(found[parcel.position])
            then([portion for portion in portions if portion.parcel.is_here])

        if lacking:
            self._read([parcel.position for parcel in lacking], read)
        else:
            then(list(portions))
