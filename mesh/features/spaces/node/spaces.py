"""The definitions of all spaces, which all nodes share."""

# Law: the definition with the highest generation is in effect at every node.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mesh.errors import LocalError
from mesh.features.spaces.model.definition import HOMES, Definition, check_space, packed, unpacked
from mesh.kernel.context.component import Component
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.sharing.shared import RowKind, Shared
from mesh.shared.row import SharedRow
from mesh.wire.limits import SPACES

SPACE = "space"  # kind of rows and events
TAKEN = 2 * HOMES  # with the rows of peers


class Spaces(Component):
    """Component with the definitions of spaces by name."""

    def __init__(self, context: NodeContext, shared: Shared) -> None:
        self._context = context
        self._shared = shared
        self._all: dict[str, Definition] = {}
        shared.add(RowKind(SPACE, self._check, self._on_row_changed))

    def features(self) -> Sequence[str]:
        return (SPACES,)

    def figures(self) -> dict[str, int | float]:
        return {"spaces": len(self._all)}

    def find(self, name: str) -> Definition | None:
        """Return the definition of a space that is in effect here."""
        return self._all.get(name)

    def all(self, prefix: str = "") -> Iterator[tuple[str, Definition]]:
        """Yield the spaces whose names begin with `prefix`, by name."""
        return ((name, each) for name, each in sorted(self._all.items()) if name.startswith(prefix))

    def is_home(self, name: str) -> bool:
        """Return whether this node is the home of a space."""
        known = self._all.get(name)
        return known is not None and known.home == self._context.me.uuid

    def check_room(self) -> None:
        """Check that another space may be created. Raises: LocalError TOO_MANY_SPACES."""
        if len(self._all) >= HOMES:
            what = f"The mesh has {len(self._all):,} maps and groups of counters; the limit is {HOMES:,}."
            raise LocalError(what, hint="Use one map with different keys.", code="TOO_MANY_SPACES")

    def write_definition(self, name: str, definition: Definition, then: Callable[[], None]) -> None:
        """Write the definition of a space, send it to all reachable nodes, and call `then`."""
        known = self._all.get(name)
        if known is None or known.generation < definition.generation:
            self._shared.write_row(SPACE, name, self._shared.stamp(SPACE, name), packed(definition))
        self._shared.spread(SPACE, name, SPACES, then)

    def _check(self, row: SharedRow) -> None:
        check_space(row.name)
        if row.value:
            unpacked(row.value)
        if row.name not in self._all and len(self._all) >= TAKEN:
            what = f"The space {row.name!r} exceeds the limit of {TAKEN:,} in a mesh."
            raise LocalError(what, hint="Use one map with different keys.", code="TOO_MANY_ROWS")

    def _on_row_changed(self, row: SharedRow, by: Peer | None) -> None:
        old, new = self._all.get(row.name), unpacked(row.value) if row.value else None
        if new is None:
            self._all.pop(row.name, None)
        elif old is None or new.generation >= old.generation:
            self._all[row.name] = new
