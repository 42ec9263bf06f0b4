"""The last values of other masters' topics, as far as they have come by here."""

from __future__ import annotations

from collections import OrderedDict

from mesh.routing.retained import Retained
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, Envelope

KNOWN = 100_000  # topics of which it is remembered that their value here is the last, or their domain


class Cache:
    """Values, and which of them are known to be the last; and the domains of topics that went elsewhere."""

    def __init__(self, size: int) -> None:
        self.values = Retained(size)
        self.life = 0  # how often it was emptied
        # What was asked for since it was emptied: what it has of that is the last value, whatever the clocks
        # of publishers say. Of other topics it may lack one with a later stamp.
        self._known: set[Query] = set()
        self._domains: OrderedDict[str, str] = OrderedDict()  # key -> domain, of what went elsewhere

    def keep(self, envelope: Envelope) -> None:
        """A value of another master's topic, or the end of the topic."""
        if envelope.flags & ERASED:
            self.values.remove(envelope.keys[0], envelope.domain)
        else:
            self.values.keep(envelope)

    def empty(self) -> None:
        """A newer value may have passed us by."""
        self.values.clear()
        self._known.clear()
        self.life += 1

    def knows(self, query: Query, life: int) -> None:
        """All values of it are here, unless that was emptied since it was asked for, in that life."""
        if len(self._known) >= KNOWN:
            self._known.clear()
        if life == self.life:
            self._known.add(query)

    def knows_one(self, queries: tuple[Query, ...]) -> bool:
        """Are all values of one of these here?"""
        return not self._known.isdisjoint(queries)

    def unwanted(self, query: Query) -> None:
        """Nothing more is heard of it."""
        self._known.discard(query)

    def went(self, envelope: Envelope) -> None:
        """A client of this node has published it for a master elsewhere."""
        for key in envelope.keys:
            self._domains[key] = envelope.domain
            self._domains.move_to_end(key)
        while len(self._domains) > KNOWN:
            self._domains.popitem(last=False)

    def domains_of(self, key: str) -> list[str]:
        """The domains of other masters in which this node has seen the topic."""
        published = [self._domains[key]] if key in self._domains else []
        return list(dict.fromkeys([*self.values.domains(key), *published]))
