"""A store in memory, for a node without durable data."""

from collections.abc import Sequence

from mesh.errors import StoreError
from mesh.operations import FIRST_POSITION, TABLES, Image, Op, Positions, Span, Stored, StoreReach
from mesh.store.change import fold


class MemoryStore:
    """A store that keeps all laws of `Store` except durability."""

    def __init__(self) -> None:
        self._envelopes: dict[int, tuple[bytes, bytes]] = {}
        self._tables: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
        self._next = FIRST_POSITION
        self._commits = 0
        self._closed = False

    def load(self) -> Image:
        self._check_open()
        envelopes = [(position, *parts) for position, parts in self._envelopes.items()]
        tables = {table: dict(rows) for table, rows in self._tables.items()}
        return Image(envelopes, tables, self._next, self.reach)

    def read(self, positions: Positions) -> list[Stored]:
        self._check_open()
        if isinstance(positions, Span):
            within = sorted(p for p in self._envelopes if positions.first <= p <= positions.last)
            there = within[: max(0, positions.most)]
        else:
            there = sorted(self._envelopes.keys() & positions)
        return [(position, *self._envelopes[position]) for position in there]

    def commit(self, ops: Sequence[Op]) -> None:
        self._check_open()
        change = fold(ops, self._next)
        for position in change.dropped:
            self._envelopes.pop(position, None)
        for position in change.rewritten.keys() & self._envelopes.keys():
            self._envelopes[position] = change.rewritten[position]
        self._envelopes.update(change.appended)
        for (table, key), value in change.rows.items():
            if value is None:
                self._tables[table].pop(key, None)
            else:
                self._tables[table][key] = value
        self._next = change.next_position
        self._commits += bool(change)

    def close(self) -> None:
        self._closed = True

    @property
    def reach(self) -> StoreReach:
        return StoreReach(self._next - 1, self._commits)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store in memory is closed.")
