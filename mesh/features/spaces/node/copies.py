"""Copies of values: what this node has read or written for its clients, and what it held as a former home."""

# Law: of a key the copy with the highest version counts. A copy may be old, so it is only read when the home
#      does not act, and never as the current value.

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mesh.features.spaces.model.space import Value
from mesh.features.spaces.model.votes import is_live
from mesh.features.spaces.node.facts import SpaceDefinedFact
from mesh.features.spaces.node.holdings import Holdings
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.wire.replies import SpaceRow

BYTES = 16 << 20  # of all copies
OVERHEAD = 200  # bytes of a copy beside its texts


class Copy(NamedTuple):
    """The copy of a value. `row` is `None` if the value was removed."""

    row: SpaceRow | None
    version: int
    seen: float  # time at which it was the current value


class Copies(Component):
    """Component with copies of the values that were seen last, up to BYTES."""

    def __init__(self, context: NodeContext, holdings: Holdings) -> None:
        self._context = context
        self._holdings = holdings
        self._all: OrderedDict[tuple[str, str], Copy] = OrderedDict()
        self._bytes = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SpaceDefinedFact, self._on_defined),)

    def _on_defined(self, fact: SpaceDefinedFact) -> None:
        """Forget the values of a removed space."""
        if not is_live(fact.new):
            for place in [place for place in self._all if place[0] == fact.space]:
                self._bytes -= _size(place[1], self._all.pop(place))

    def keep_rows(self, space: str, rows: Iterable[SpaceRow]) -> None:
        """Keep current values that pass this node."""
        for row in rows:
            self.keep(space, row.key, row, row.version)

    def keep(self, space: str, key: str, row: SpaceRow | None, version: int) -> None:
        """Keep a current value, or its removal."""
        old = self._all.pop((space, key), None)
        if old is not None:
            self._bytes -= _size(key, old)
            if old.version > version:
                row, version = old.row, old.version
        new = Copy(row, version, self._context.clock.now)
        self._all[space, key] = new
        self._bytes += _size(key, new)
        while self._bytes > BYTES:
            (_, key), old = self._all.popitem(last=False)
            self._bytes -= _size(key, old)

    def find(self, space: str) -> dict[str, Copy]:
        """Return the copies of a space by key."""
        found = dict[str, Copy]()
        for key, value in self._holdings.home(space).state.values.items():
            row = SpaceRow(
                key=key,
                content=value.content,
                props=value.props,
                version=value.version,
                expires=value.expires,
            )
            found[key] = Copy(row, value.version, self._holdings.began)
        for (of, key), copy in self._all.items():
            if of == space and (key not in found or found[key].version <= copy.version):
                found[key] = copy
        now = self._context.clock.believed
        return {
            key: copy
            for key, copy in found.items()
            if copy.row is not None and (not copy.row.expires or now < copy.row.expires)
        }


def row_of(key: str, value: Value) -> SpaceRow:
    return SpaceRow(
        key=key, content=value.content, props=value.props, version=value.version, expires=value.expires
    )


def _size(key: str, copy: Copy) -> int:
    row = copy.row
    return OVERHEAD + len(key) + (len(row.content) + len(row.props) if row is not None else 0)
