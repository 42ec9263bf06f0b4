"""Groups wanted queries by their sources, and tracks which peers must be asked again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from mesh.wire.commands import Query

# Law 1: after a change, the targets of queries with the same sources and the same requesters are looked up
# once for all of them.
# Law 2: when nodes appear or disappear, a peer is notified only if it is newly asked, or is no longer asked.
# Law 3: the number of queries sent per step is bounded; the next step continues behind them, whatever has
# happened meanwhile.
# Law 4: a peer that receives a full list has nothing left to receive: it drops queries that are not in it,
# and owes messages for them only after they are sent again.

TURN = 512  # queries per step, some ms

Alike = tuple[Hashable, frozenset[bytes]]


@dataclass(slots=True, eq=False)
class QueryGroup:
    """A group of queries with the same sources and requesters.

    `targets` has the peers to which all queries of the group are sent.
    """

    by: frozenset[bytes]
    targets: set[bytes]
    queries: dict[Query, None] = field(default_factory=dict)
    changed: set[bytes] = field(default_factory=set)  # peers with changes
    left: list[Query] = field(default_factory=list)  # queries still to be sent, next one last

    def aim(self, targets: set[bytes]) -> bool:
        """Set the targets, and return whether any peer must be notified."""
        changed = self.targets ^ targets
        self.targets = targets
        if changed:
            rest = self.left
            self.left, self.changed = list(self.queries), self.changed | changed
            onward = next((query for query in reversed(rest) if query in self.queries), None)
            if onward is not None:  # continue in place, so that flapping restarts nothing
                at = self.left.index(onward)
                self.left = self.left[at + 1 :] + self.left[: at + 1]
        return bool(changed)

    def take_unsent(self, most: int) -> list[Query]:
        """Take up to `most` queries that are still to be sent, and return the ones still in the group."""
        part, self.left = self.left[-most:], self.left[:-most]
        return [query for query in reversed(part) if query in self.queries]


class Aims:
    """The wanted queries, in groups.

    `targets(query, by)` looks up the peers to ask.
    """

    def __init__(self, targets: Callable[[Query, Collection[bytes]], set[bytes]]) -> None:
        self._targets = targets
        self._groups: dict[Alike, QueryGroup] = {}
        self._changed: dict[QueryGroup, None] = {}

    @property
    def is_open(self) -> bool:
        """Whether any peer is still to be notified."""
        return bool(self._changed)

    def put(self, query: Query, row: Hashable, by: frozenset[bytes]) -> QueryGroup:
        """Add the query to the group of its sources and requesters, and return the group."""
        targets = self._targets(query, by)
        group = self._groups.get((row, by))
        if group is None:
            group = self._groups[row, by] = QueryGroup(by, targets)
        elif group.aim(targets):  # the change was not noticed before
            self._changed[group] = None
        group.queries[query] = None
        return group

    def take(self, query: Query, row: Hashable, by: frozenset[bytes]) -> None:
        """Remove the query, if present, from the group of its sources and of the requesters `by`."""
        group = self._groups.get((row, by))
        if group is not None:
            group.queries.pop(query, None)
            if not group.queries:
                del self._groups[row, by]
                self._changed.pop(group, None)

    def group(self, row: Hashable, by: frozenset[bytes]) -> QueryGroup | None:
        return self._groups.get((row, by))

    def refresh(self) -> None:
        """Look up the targets again, after nodes or rules have changed."""
        for group in self._groups.values():
            if group.aim(self._targets(next(iter(group.queries)), group.by)):
                self._changed[group] = None

    def left_for(self, peer: bytes) -> list[QueryGroup]:
        """Look up the targets again, and return the groups with changes that may concern that peer."""
        self.refresh()
        return [group for group in self._changed if peer in group.changed]

    def regroup(self, row: Callable[[Query], Hashable]) -> None:
        """Regroup all queries after rules have changed.

        `row` returns the key of a query's sources. All old and new targets of each query will be notified.
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
        """Return whether some queries of the group are still to be sent."""
        return group in self._changed

    def go_on(self, most: int) -> Iterator[tuple[QueryGroup, list[Query]]]:
        """Yield groups with their next queries, at most `most` queries in total."""
        for group in list(islice(self._changed, most)):
            count = min(most, len(group.left))
            yield group, group.take_unsent(count)
            most -= max(count, 1)
            if not group.left:
                del self._changed[group]
                group.changed = set()
            if most <= 0:
                return
