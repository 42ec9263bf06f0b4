"""The values of spaces on the disk of this node, which is, was, or is going to be their home."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush

from mesh.errors import LocalError, MeshError
from mesh.features.spaces.model.batch import Numbered, SpaceState
from mesh.features.spaces.model.space import Head, Outcome, Value
from mesh.features.spaces.node import rows
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_context import NodeContext
from mesh.operations import Delete, Op, Put

Answer = Callable[[Outcome | MeshError], None]
HandedRow = tuple[bytes, bytes, bytes]  # kind, rest of the key, content


class Home:
    """A space whose values are on the disk of this node."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = SpaceState()
        self.used: dict[bytes, int] = {}  # stream -> wall time of its last outcome, oldest first
        self.waiting: deque[tuple[Numbered, Answer]] = deque()
        self.expired: set[str] = set()  # keys to remove with the next batch
        self.is_writing = False
        self.is_paused = False  # while its values are handed over
        self.on_idle: list[Callable[[], None]] = []  # to call when no batch is being written


class Holdings(Component):
    """Component with the values of spaces on the disk of this node."""

    def __init__(self, context: NodeContext, disk: Disk) -> None:
        self._context = context
        self._disk = disk
        self._homes: dict[str, Home] = {}
        self._ends: list[tuple[int, str, str]] = []  # heap of (end, space, key)
        self.began = 0.0  # time of the start of this node

    def figures(self) -> dict[str, int | float]:
        return {
            "space_keys": sum(home.state.head.keys for home in self._homes.values()),
            "space_bytes": self.holds(),
        }

    def holds(self) -> int:
        return sum(home.state.head.size for home in self._homes.values())

    def home(self, name: str) -> Home:
        """Return the values of a space, none if this node has none."""
        return self._homes.setdefault(name, Home(name))

    def names(self) -> list[str]:
        """Return the names of the spaces that have been used here."""
        return sorted(self._homes)

    # --- from the disk ----------------------------------------------------------------------------------

    def start(self, beginning: Beginning) -> None:
        self.began = self._context.clock.now
        for kind, space, rest, row in rows.rows_of(beginning.rows(rows.TABLE)):
            if kind == rows.PROMISE:
                continue
            try:
                self.restore(space, kind, rest, row)
            except (MeshError, UnicodeDecodeError) as error:
                self._context.out.log_line("warning", f"a row of {space} is damaged: {error}")

    def restore(self, space: str, kind: bytes, rest: bytes, row: bytes) -> None:
        """Take a row of a space from the disk, or from another node. Raises: MeshError for a damaged one."""
        home = self.home(space)
        if kind == rows.HEAD:
            home.state.head = rows.read_head(row)
        elif kind == rows.VALUE:
            key = rest.decode()
            home.state.values[key] = value = rows.read_value(row)
            self.await_end(space, key, value)
        elif kind == rows.OUTCOMES:
            home.state.outcomes[rest], home.used[rest] = rows.read_outcomes(row)

    def on_restored(self) -> None:
        for home in self._homes.values():
            self._sort(home)

    def _sort(self, home: Home) -> None:
        home.used = dict(sorted(home.used.items(), key=lambda item: item[1]))

    def clear(self, name: str) -> None:
        """Forget the values of a space, with the next commit also on the disk."""
        for op in self._rows_of(name):
            self._disk.later(op.table, op.key, op)
        home = self.home(name)
        home.state = SpaceState()
        home.used.clear()

    def _rows_of(self, name: str) -> Iterator[Delete]:
        home = self.home(name)
        yield Delete(rows.TABLE, rows.row_key(rows.HEAD, name))
        for key in home.state.values:
            yield Delete(rows.TABLE, rows.row_key(rows.VALUE, name, key.encode()))
        for stream in home.state.outcomes:
            yield Delete(rows.TABLE, rows.row_key(rows.OUTCOMES, name, stream))

    def all_ops(self, name: str) -> Iterator[Put]:
        """Yield the operations that store all values and counts of a space."""
        state = self.home(name).state
        for key, value in state.values.items():
            yield rows.put_value(name, key, value)
        yield rows.put_head(name, state.head)

    def store_copies(self, name: str, values: Mapping[str, Value], head: Head) -> Iterator[Op]:
        """Take copies in place of the values of a space, and yield the operations that store them."""
        self.clear(name)
        state = self.home(name).state
        state.values.update(values)
        state.head = head
        for key, value in values.items():
            self.await_end(name, key, value)
        yield from self.all_ops(name)

    # --- for a new home -----------------------------------------------------------------------------------

    def to_hand(self, name: str, head: Head) -> Iterator[HandedRow]:
        """Yield the rows of a space for a new home, the counts last, as they complete the others."""
        home = self.home(name)
        for key, value in list(home.state.values.items()):
            yield rows.VALUE, key.encode(), rows.put_value(name, key, value).value
        for stream, outcomes in list(home.state.outcomes.items()):
            op = rows.put_outcomes(name, stream, rows.to_hand(outcomes), home.used.get(stream, 0))
            yield rows.OUTCOMES, stream, op.value
        yield rows.HEAD, b"", rows.put_head(name, head).value

    def store_handed(self, name: str, is_first: bool, handed: Sequence[HandedRow]) -> Iterator[Op]:
        """Take rows of a home, and yield the operations that store them.

        Raises: MeshError for a damaged row.
        """
        if is_first:
            self.clear(name)
        for kind, rest, row in handed:
            if kind not in (rows.VALUE, rows.OUTCOMES, rows.HEAD):
                raise LocalError(f"A row of {name} has an unknown kind.", code="BAD_ROW")
            self.restore(name, kind, rest, row)
            yield Put(rows.TABLE, rows.row_key(kind, name, rest), row)
        self._sort(self.home(name))

    # --- expiry -----------------------------------------------------------------------------------------

    def await_end(self, name: str, key: str, value: Value) -> None:
        if value.expires:
            heappush(self._ends, (value.expires, name, key))

    @property
    def next_end(self) -> int:
        """The time at which a value expires next, in ns since 1970. 0: none."""
        return self._ends[0][0] if self._ends else 0

    def pop_expired(self, now: int) -> Iterator[tuple[str, str]]:
        """Yield the space and key of values that may have expired."""
        while self._ends and self._ends[0][0] <= now:
            _, name, key = heappop(self._ends)
            yield name, key
