"""The nodes that serve watched addresses: all of them first, then changes."""

# Law 1: a report about an address replaces all earlier ones.
# Law 2: a slow reader misses intermediate states, never the latest one.

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakSet

from msgspec import Struct

from mesh.client.core.node_connection import NodeConnection
from mesh.errors import MeshError, RemoteError
from mesh.names import ADDRESS
from mesh.wire.commands import Row, Serving, Watch
from mesh.wire.serving import read_numbers

PART = 48 * 1024  # approximate bytes of names in one message
NodeProcess = tuple[bytes, int]  # uuid, boot


class Registration(Struct, frozen=True):
    """The services of an address at one node.

    `change` is "initial" (registered before the watch began), "added", "changed" or "removed". `numbers` are
    the sequence numbers of the registrations, in ascending order: each registration at a node has a higher
    one than all before since the node's start. Above 100 registrations, and with earlier releases, there are
    none.
    """

    node: str
    uuid: str  # in hexadecimal digits
    boot: int
    consumers: int
    change: str
    numbers: tuple[int, ...] = ()


class AddressWatch:
    """The state of an address as one reader has seen it. `stirred` is called when there may be changes."""

    def __init__(self, table: dict[NodeProcess, Row], is_known: bool) -> None:
        self.stirred: Callable[[], None] = lambda: None
        self.error: MeshError | None = None  # why the watch has ended
        self._table = table
        self._shown: dict[NodeProcess, Row] = {}
        self._due: dict[NodeProcess, None] = dict.fromkeys(table)
        self._initial: set[NodeProcess] | None = set(table) if is_known else None

    def on_changed(self, nodes: dict[NodeProcess, None]) -> None:
        if self._initial is None:
            self._initial = set(nodes)
        self._due.update(nodes)
        self.stirred()

    def take_change(self) -> Registration | None:
        while self._due:
            node = next(iter(self._due))
            del self._due[node]
            news = self._news(node)
            if news is not None:
                return news
        return None

    def _news(self, node: NodeProcess) -> Registration | None:
        row, before = self._table.get(node), self._shown.get(node)
        if row == before:
            return None
        if row is None:
            assert before is not None
            del self._shown[node]
            (self._initial or set()).discard(node)
            return Registration(before.node, node[0].hex(), node[1], 0, "removed")
        self._shown[node] = row
        change = "changed"
        if before is None:
            change = "initial" if node in (self._initial or ()) else "added"
        return Registration(row.node, node[0].hex(), node[1], row.consumers, change, read_numbers(row.note))


class Watches:
    """The watched addresses with their readers.

    A reader that nothing else refers to is dropped; an address without readers is dropped at its next report.
    """

    def __init__(self, line: NodeConnection) -> None:
        self._line = line
        self._tables: dict[str, dict[NodeProcess, Row]] = {}
        self._known: set[str] = set()  # addresses that the node has reported
        self._watching: dict[str, WeakSet[AddressWatch]] = {}
        self._version = 0
        self._heard = 0  # reports on this connection

    def __len__(self) -> int:
        return len(self._tables)

    def watch(self, address: str) -> AddressWatch:
        is_new = address not in self._tables
        watching = AddressWatch(self._tables.setdefault(address, {}), address in self._known)
        self._watching.setdefault(address, WeakSet()).add(watching)
        if is_new:
            self._send_watch(Watch(self._next(), full=False, add=((ADDRESS, address),)))
        return watching

    def end_watch(self, address: str, watching: AddressWatch) -> None:
        others = self._watching.get(address)
        if others is not None:
            others.discard(watching)
            self._review(address)

    def _review(self, address: str) -> bool:
        """Stop watching an address without readers; return whether it was stopped."""
        if self._watching[address]:
            return False
        self._drop_address(address)
        self._send_watch(Watch(self._next(), full=False, remove=((ADDRESS, address),)))
        return True

    def _drop_address(self, address: str) -> None:
        del self._watching[address], self._tables[address]
        self._known.discard(address)

    def _next(self) -> int:
        self._version += 1
        return self._version

    def _send_watch(self, command: Watch) -> None:
        self._line.send_command(command)  # without a connection, sent by the next one

    def rewatch_all(self) -> None:
        self._heard = 0
        for address in [address for address, who in self._watching.items() if not who]:
            self._drop_address(address)
        if not self._tables:
            return
        version, parts = self._next(), list(_parts(self._tables))
        for part in parts[:-1]:
            self._send_watch(Watch(version, full=True, more=True, add=part))
        self._send_watch(Watch(version, full=True, add=parts[-1]))

    def serving(self, command: Serving) -> None:
        """Update the services as the node reports them. Raises: RemoteError if a report is missing."""
        self._heard += 1
        if command.number != self._heard:
            raise RemoteError(
                f"the node sent update {command.number} of served addresses, but {self._heard} was expected",
                code="GAP",
            )
        told: dict[str, dict[NodeProcess, Row]] = {}
        for row in command.rows:
            if row.kind == ADDRESS and row.name in self._tables:
                rows = told.setdefault(row.name, {})
                if row.consumers:
                    rows[row.uuid, row.boot] = row
        for address, rows in told.items():
            self._on_rows(address, rows)

    def _on_rows(self, address: str, rows: dict[NodeProcess, Row]) -> None:
        if self._review(address):
            return
        self._known.add(address)
        table = self._tables[address]
        changed = {node: None for node in (*table, *rows) if table.get(node) != rows.get(node)}
        table.clear()
        table.update(rows)
        for watching in list(self._watching[address]):
            watching.on_changed(changed)

    def end_all(self, error: MeshError) -> None:
        for who in self._watching.values():
            for watching in list(who):
                watching.error = error
                watching.stirred()
        self._watching.clear()
        self._tables.clear()


def _parts(addresses: dict[str, dict[NodeProcess, Row]]) -> Iterator[tuple[tuple[str, str], ...]]:
    part: list[tuple[str, str]] = []
    size = 0
    for address in addresses:
        part.append((ADDRESS, address))
        size += 4 * len(address) + 16
        if size >= PART:
            yield tuple(part)
            part, size = [], 0
    if part:
        yield tuple(part)
