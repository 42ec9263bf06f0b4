"""The definitions of all spaces, which all nodes share."""

# Law: the definition with the highest generation is in effect at every node. A row of an older one, which a
#      node with an old view may have written later, is replaced.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import HOMES, Definition, check_space, packed, unpacked
from mesh.features.spaces.model.votes import is_live
from mesh.features.spaces.node.facts import SpaceDefinedFact
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.shared.row import SharedRow
from mesh.wire.limits import SPACES

SPACE = "space"  # kind of rows and events
AGAIN = 2.0  # s between two rows that are sent again
TAKEN = 5 * HOMES  # names, with those of removed spaces


class Spaces(Component):
    """Component with the definitions of spaces by name."""

    def __init__(self, context: NodeContext, shared: Shared) -> None:
        self._context = context
        self._shared = shared
        self._all: dict[str, Definition] = {}  # removed ones, too
        self._outdated: set[str] = set()  # names whose rows are older than the definitions in effect
        self._again = 0.0  # time from which on `write_again` sends
        shared.add(RowKind(SPACE, self._check, self._on_row_changed, is_early=True))

    def features(self) -> Sequence[str]:
        return (SPACES,)

    def figures(self) -> dict[str, int | float]:
        return {"spaces": self._count()}

    def find(self, name: str) -> Definition | None:
        """Return the definition of a space that is in effect here, or `None` if it does not exist."""
        known = self._all.get(name)
        return known if known is not None and is_live(known) else None

    def last(self, name: str) -> Definition | None:
        """Return the definition with the highest generation, which may be that of a removed space."""
        return self._all.get(name)

    def all(self, prefix: str = "") -> Iterator[tuple[str, Definition]]:
        """Yield the spaces whose names begin with `prefix`, by name."""
        return (
            (name, each)
            for name, each in sorted(self._all.items())
            if is_live(each) and name.startswith(prefix)
        )

    def own(self) -> Iterator[tuple[str, Definition]]:
        """Yield the spaces whose home is this node."""
        return ((name, each) for name, each in self._all.items() if each.home == self._context.me.uuid)

    def is_home(self, name: str) -> bool:
        """Return whether this node is the home of a space."""
        known = self._all.get(name)
        return known is not None and known.home == self._context.me.uuid

    def check_room(self) -> None:
        """Check that another space may be created. Raises: LocalError TOO_MANY_SPACES."""
        if self._count() >= HOMES:
            what = f"The mesh has {self._count():,} maps and groups of counters; the limit is {HOMES:,}."
            raise LocalError(what, hint="Use one map with different keys.", code="TOO_MANY_SPACES")

    def _count(self) -> int:
        return sum(map(is_live, self._all.values()))

    def write_definition(self, name: str, definition: Definition, then: Callable[[], None]) -> None:
        """Write the definition of a space, send it to all reachable nodes, and call `then`."""
        self.learn(name, definition)
        self._shared.spread(SPACE, name, SPACES, then)

    def learn(self, name: str, definition: Definition) -> None:
        """Write a definition that is in effect, if it is newer than the one known here."""
        known = self._all.get(name)
        if known is None or known.generation < definition.generation:
            self._shared.write_row(SPACE, name, self._shared.stamp(SPACE, name), packed(definition))

    def write_again(self, name: str) -> None:
        """Send the definition of a space to all reachable nodes, as one of them knows another home.

        A newer definition of theirs comes back.
        """
        if name in self._all and self._context.clock.now >= self._again:
            self._again = self._context.clock.now + AGAIN
            self._outdated.add(name)
            self._context.clock.wake(self._context.clock.now)

    def tick(self) -> None:
        for name in sorted(self._outdated):
            row = packed(self._all[name])
            self._shared.write_row(SPACE, name, self._shared.stamp(SPACE, name), row)
            self._shared.spread(SPACE, name, SPACES, lambda: None)
        self._outdated.clear()

    def _check(self, row: SharedRow) -> None:
        check_space(row.name)
        if row.value:
            unpacked(row.value)
        if row.name not in self._all and len(self._all) >= TAKEN:
            what = f"The space {row.name!r} exceeds the limit of {TAKEN:,} names in a mesh."
            raise LocalError(what, hint="Use one map with different keys.", code="TOO_MANY_ROWS")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        old, new = self._all.get(row.name), unpacked(row.value) if row.value else None
        if new is not None and (old is None or new.generation > old.generation):
            self._all[row.name] = new
            self._outdated.discard(row.name)
            self._context.facts.publish_fact(SpaceDefinedFact(row.name, old, new))
        elif old is not None and (new is None or new.generation < old.generation):
            self._outdated.add(row.name)
