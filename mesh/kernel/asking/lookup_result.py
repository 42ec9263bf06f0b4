"""The retained values that a lookup has found, at this node and others."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from mesh.kernel.context.pages import NAMES
from mesh.kernel.routes.peer_calls import Replies
from mesh.routing.querytrie import wants
from mesh.wire.calls import LONGEST, AskGet
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Values

Stamp = tuple[int, bytes, int]  # timestamp, stream, number


@dataclass(frozen=True, slots=True)
class LastValue:
    """A retained value: its master, the node that had it, and its possible age in s (None = current)."""

    master: bytes
    envelope: Envelope
    source: str
    age: float | None = None


@dataclass(slots=True)
class LookupResult:
    """The newest value of each topic, the nodes that did not answer, and the unreachable masters.

    With `most` above 1, the result has the latest `most` messages of each topic, as far as masters keep them.
    """

    best: dict[tuple[str, str], LastValue] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    away: list[str] = field(default_factory=list)
    most: int = 1
    earlier: dict[tuple[str, str], dict[Stamp, LastValue]] = field(default_factory=dict)  # by topic

    @property
    def values(self) -> list[LastValue]:
        """The values, those of one topic together and oldest first."""
        if not self.earlier:
            return list(self.best.values())
        found: list[LastValue] = []
        for topic, last in self.best.items():
            earlier = self.earlier.get(topic, {})
            found += [earlier[stamp] for stamp in sorted(earlier)]
            found.append(last)
        return found

    def add_replies(self, replies: Replies[Values], query: Query) -> int:
        """Add the replies of nodes, and return the number of unexpected values."""
        unasked = 0
        for told in replies.values():
            for envelope, (source, age, master) in told.found:
                if _fits(envelope, query):
                    self.add(LastValue(master, envelope, source, age))
                else:
                    unasked += 1
            self.away += [name[:LONGEST] for name in told.value.away[:NAMES]]
        return unasked

    def add(self, value: LastValue) -> None:
        """Keep the value if its topic has no other value, or only an older one, or fewer than `most`."""
        e = value.envelope
        topic = (e.keys[0], e.domain)
        known = self.best.get(topic)
        if known is None or e.stamp > known.envelope.stamp:
            self.best[topic] = value
            value_before = known
        else:
            value_before = value if e.stamp != known.envelope.stamp else None
        if self.most > 1 and value_before is not None:
            earlier = self.earlier.setdefault(topic, {})
            earlier[value_before.envelope.stamp] = value_before
            if len(earlier) >= self.most:
                del earlier[min(earlier)]


@dataclass(slots=True)
class RemoteLookup:
    """A lookup at other nodes, from its first question until `then` gets the result.

    `found` has the values of this node, and gets those of the others.
    """

    query: Query
    question: AskGet
    then: Callable[[LookupResult], None]
    found: LookupResult
    visited: Collection[str]  # nodes that have looked before
    within: float  # s
    is_own: bool  # for a client here
    life: int  # of the cache when the lookup began
    sources: Collection[str]  # all nodes with values
    spare: list[str]  # those of them that were not asked yet


def _fits(value: Envelope, query: Query) -> bool:
    if query.kind == "exact" and value.keys[0] != query.text:
        return False
    return value.count == 1 and wants(query, value.keys[0], value.domain, value.xml)
