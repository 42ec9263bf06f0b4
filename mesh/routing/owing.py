"""Who is still owed what stands in a node's log when it begins? Asked for each of millions of envelopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.routing.parcel import Parcel
from mesh.routing.taker import Taker, Targets
from mesh.wire.envelope import LOCAL_ONLY, Envelope

KNOWN = 10_000  # keys whose answer is remembered


class Owed:
    """Takers of messages of one key, each with the first place in our log of which it is owed one."""

    __slots__ = ("_all", "_firsts", "_last")

    def __init__(self, firsts: list[tuple[Taker, float]]) -> None:
        self._firsts = firsts
        self._all: Targets = [(taker, None) for taker, _ in firsts]
        self._last = max((first for _, first in firsts), default=0.0)

    def at(self, place: int) -> Targets:
        """Those of the message at that place."""
        if place >= self._last:  # as a rule
            return self._all
        return [(taker, None) for taker, first in self._firsts if first <= place]


class Owing:
    """What takers want, and have settled, when the node begins. `wanting(key, domain, xml, is_local)` names
    those who want what was published, `addressed` whom a letter is for."""

    def __init__(
        self, wanting: Callable[[str, str, str, bool], Iterable[Taker]], addressed: Callable[[str], Taker]
    ) -> None:
        self._wanting, self._addressed = wanting, addressed
        self._known: dict[tuple[str, str, str, int, str], Owed] = {}

    def of(self, parcel: Parcel) -> Targets:
        """Those to whom it is owed, and which of its messages."""
        e, place = parcel.envelope, parcel.position
        if len(e.keys) == 1:  # as a rule
            return self._owed(e.keys[0], e).at(place)
        rows_of: dict[Taker, set[int]] = {}
        for row, key in enumerate(e.keys):
            for taker, _ in self._owed(key, e).at(place):
                rows_of.setdefault(taker, set()).add(row)
        return [(taker, _indices(e, rows)) for taker, rows in rows_of.items()]

    def forget(self) -> None:
        """From now on they take, and want something else."""
        self._known.clear()

    def _owed(self, key: str, e: Envelope) -> Owed:
        kind = key, e.domain, e.to, e.flags & LOCAL_ONLY, e.xml
        owed = self._known.get(kind)
        if owed is None:
            takers = [self._addressed(e.to)] if e.to else self._wanting(key, e.domain, e.xml, bool(kind[3]))
            owed = Owed([(taker, taker.owed_from(key, e.domain, e.xml)) for taker in takers])
            if len(self._known) >= KNOWN:
                self._known.clear()
            self._known[kind] = owed
        return owed


def _indices(envelope: Envelope, rows: set[int]) -> tuple[int, ...] | None:
    """The messages in these rows; None = all."""
    if len(rows) == len(envelope.keys):
        return None
    return tuple([i for i, row in enumerate(envelope.rows()) if row in rows])
