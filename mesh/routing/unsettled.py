"""What a peer has taken and not settled: it comes again if that peer goes down.

One stopped subscriber there must not fill the memory here. Beyond the bound the peer is trusted with the
oldest: what it then loses by going down is a gap.
"""

from __future__ import annotations

from mesh.routing.paging import Paging
from mesh.routing.portion import Portion, Portions


class Unsettled:
    """By master, each in the order of its log; at most `bound` bytes together."""

    def __init__(self, bound: int, paging: Paging | None = None) -> None:
        self._bound = bound
        self._paging = paging
        self._resting: set[int] = set()  # numbers of those that are on the disk alone
        self._bytes = 0
        self._rows: dict[bytes, Portions] = {}
        self._trusted: dict[bytes, tuple[int, int]] = {}  # master -> (messages, up to this position)

    def __bool__(self) -> bool:
        return bool(self._rows)

    @property
    def trusted(self) -> int:
        """Messages that the peer is trusted with."""
        return sum(messages for messages, _ in self._trusted.values())

    def keep(self, portion: Portion) -> list[Portion]:
        """One more; returns what it is trusted with from now on."""
        self._rows.setdefault(portion.parcel.master, Portions()).append(portion)
        self._bytes += portion.size
        self._rest(portion)
        given = []
        while self._bytes > self._bound:
            oldest = self._pop(next(iter(self._rows)))
            messages, _ = self._trusted.get(oldest.parcel.master, (0, 0))
            self._trusted[oldest.parcel.master] = (messages + oldest.messages, oldest.parcel.position)
            given.append(oldest)
        return given

    def settle(self, master: bytes, position: int) -> list[Portion]:
        """The peer is done with everything up to there; returns what that was."""
        settled = []
        while master in self._rows and self._rows[master].first.parcel.position <= position:
            settled.append(self._pop(master))
        if position >= self._trusted.get(master, (0, 0))[1]:
            self._trusted.pop(master, None)
        return settled

    def take_all(self) -> list[Portion]:
        """Forget everything; returns what was not settled."""
        portions = [portion for row in self._rows.values() for portion in row]
        self._rows.clear()
        self._trusted.clear()
        self._bytes = 0
        for portion in portions:
            self._wake(portion)
        return portions

    def _pop(self, master: bytes) -> Portion:
        portion = self._rows[master].pop()
        if not self._rows[master]:
            del self._rows[master]
        self._bytes -= portion.size
        self._wake(portion)
        return portion

    def _rest(self, portion: Portion) -> None:
        """Hardly any of it goes again: where there is no room in memory, it need not be there."""
        paging, parcel = self._paging, portion.parcel
        if paging is None or not parcel.own:
            return
        if parcel.is_here and not paging.is_full_for(parcel):
            paging.count(parcel, +1)
        else:
            paging.rest(parcel)
            self._resting.add(portion.number)

    def _wake(self, portion: Portion) -> None:
        paging, parcel = self._paging, portion.parcel
        if paging is None or not parcel.own:
            return
        if portion.number in self._resting:
            self._resting.discard(portion.number)
            paging.wake(parcel)
        else:
            paging.count(parcel, -1)
