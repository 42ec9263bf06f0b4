"""Which of the things that are wanted have the same sources, and which of them must be asked for anew?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from mesh.wire.commands import Query

# Law 1: of queries with the same sources, wanted by the same, one is looked up for all.
# Law 2: when nodes come or go, only the peers that are asked now and were not, or were and are not now, are
#        told anything.
# Law 3: in one turn so many are told, and no more; the next turn goes on behind them, whatever has happened.
# Law 4: who is told all at once has none left: it drops what it is not told, and is owed of that only what
#        comes when it is told again.

TURN = 512  # queries in a turn: some milliseconds

Alike = tuple[Hashable, frozenset[bytes]]


@dataclass(slots=True, eq=False)
class QueryGroup:
    """Queries with the same sources, wanted by the same. `targets`: whom all of them are to be asked of."""

    by: frozenset[bytes]
    targets: set[bytes]
    queries: dict[Query, None] = field(default_factory=dict)
    changed: set[bytes] = field(default_factory=set)  # peers of which some may have to be told,
    left: list[Query] = field(default_factory=list)  # and those that have yet to be, the next one last

    def aim(self, targets: set[bytes]) -> bool:
        """They are the targets now. Is anybody to be told?"""
        changed = self.targets ^ targets
        self.targets = targets
        if changed:
            rest = self.left
            self.left, self.changed = list(self.queries), self.changed | changed
            onward = next((query for query in reversed(rest) if query in self.queries), None)
            if onward is not None:  # where it was: who flaps begins nothing anew
                at = self.left.index(onward)
                self.left = self.left[at + 1 :] + self.left[: at + 1]
        return bool(changed)

    def next(self, most: int) -> list[Query]:
        """The next of those that are to be told; no more than `most` are looked at."""
        part, self.left = self.left[-most:], self.left[:-most]
        return [query for query in reversed(part) if query in self.queries]


class Aims:
    """All queries, by what they have in common. `targets(query, by)` looks up whom to ask."""

    def __init__(self, targets: Callable[[Query, Collection[bytes]], set[bytes]]) -> None:
        self._targets = targets
        self._groups: dict[Alike, QueryGroup] = {}
        self._changed: dict[QueryGroup, None] = {}

    @property
    def is_open(self) -> bool:
        """Is anybody still to be told?"""
        return bool(self._changed)

    def put(self, query: Query, row: Hashable, by: frozenset[bytes]) -> QueryGroup:
        """Note that these want the query now, and that it is to be asked of the group's targets."""
        targets = self._targets(query, by)
        group = self._groups.get((row, by))
        if group is None:
            group = self._groups[row, by] = QueryGroup(by, targets)
        elif group.aim(targets):  # nobody has told of a change yet
            self._changed[group] = None
        group.queries[query] = None
        return group

    def take(self, query: Query, row: Hashable, by: frozenset[bytes]) -> None:
        """Note that the query is not wanted by just these any more."""
        group = self._groups.get((row, by))
        if group is not None:
            group.queries.pop(query, None)
            if not group.queries:
                del self._groups[row, by]
                self._changed.pop(group, None)

    def group(self, row: Hashable, by: frozenset[bytes]) -> QueryGroup | None:
        """The group of those; None: nothing like it is wanted."""
        return self._groups.get((row, by))

    def refresh(self) -> None:
        """Nodes have come or gone, or rules have changed."""
        for group in self._groups.values():
            if group.aim(self._targets(next(iter(group.queries)), group.by)):
                self._changed[group] = None

    def left_for(self, peer: bytes) -> list[QueryGroup]:
        """Groups of which that peer is perhaps still to be told something, as nodes are known now."""
        self.refresh()
        return [group for group in self._changed if peer in group.changed]

    def regroup(self, row: Callable[[Query], Hashable]) -> None:
        """Rules have changed: put all queries into other groups. Each is looked at, and whoever is to be told
        anything is.
        """
        before, self._groups, self._changed = self._groups, {}, {}
        for (_, by), old in before.items():
            for query in old.queries:
                alike = (row(query), by)
                group = self._groups.setdefault(alike, QueryGroup(by, set()))
                group.queries[query] = None
                group.changed |= old.targets | old.changed
        for group in self._groups.values():
            group.targets = self._targets(next(iter(group.queries)), group.by)
            group.changed |= group.targets
            group.left = list(group.queries)
            self._changed[group] = None

    def is_late(self, group: QueryGroup) -> bool:
        """Are some of its queries still to be told of?"""
        return group in self._changed

    def go_on(self, most: int) -> Iterator[tuple[QueryGroup, list[Query]]]:
        """So many of those that are left, and the group of each."""
        for group in list(islice(self._changed, most)):
            count = min(most, len(group.left))
            yield group, group.next(count)
            most -= max(count, 1)
            if not group.left:
                del self._changed[group]
                group.changed = set()
            if most <= 0:
                return
