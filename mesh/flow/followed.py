"""Tables of other nodes that this node follows: their rows, as the nodes have sent them."""

# Law 1: a row is the latest one that the node has sent on its open connection, and ends with the connection.
# Law 2: a row has a total, not a change. A total of 0 removes the row.
# Law 3: messages of a connection are numbered from 1 without a hole.

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from mesh.errors import RemoteError

K = TypeVar("K", bound=Hashable)
NOBODY: Mapping[bytes, int] = {}
NOTHING: Mapping[bytes, bytes] = {}


class Followed(Generic[K]):
    """The server counts and notes that other nodes report, by name and by uuid of the node.

    `what` names an update in errors.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._received: dict[bytes, int] = {}  # number of the last message
        self._rows: dict[K, dict[bytes, int]] = {}
        self._notes: dict[K, dict[bytes, bytes]] = {}  # only non-empty ones
        self._of: dict[bytes, dict[K, None]] = {}

    def record_number(self, uuid: bytes, number: int, sender: str) -> None:
        """Record the number of a node's message. Raises: RemoteError, unless it is the next number."""
        last = self._received.get(uuid, 0)
        if number != last + 1:
            what = f"{sender} sent {self._what} update {number}, but {last + 1} was expected"
            raise RemoteError(what, code="OUT_OF_ORDER")
        self._received[uuid] = number

    def servers(self, name: K) -> Mapping[bytes, int]:
        """Return how many servers of the name each node has, by uuid."""
        return self._rows.get(name, NOBODY)

    def notes(self, name: K) -> Mapping[bytes, bytes]:
        """Return the notes about the name, by uuid of the node."""
        return self._notes.get(name, NOTHING)

    def names(self) -> Iterable[K]:
        """Return all names with at least one server."""
        return self._rows

    def record(self, uuid: bytes, name: K, consumers: int, note: bytes = b"") -> int | None:
        """Store a row; return the change of its server count, or None if the row repeats the last one."""
        rows = self._rows.get(name)
        change = consumers - (rows or NOBODY).get(uuid, 0)
        if not change and (not consumers or note == self.notes(name).get(uuid, b"")):
            return None
        if not consumers:
            self._drop(uuid, name)
            return change
        if rows is None:
            rows = self._rows[name] = {}
        rows[uuid] = consumers
        self._of.setdefault(uuid, {})[name] = None
        self._drop_note(uuid, name)
        if note:
            self._notes.setdefault(name, {})[uuid] = note
        return change

    def count_names(self, uuid: bytes) -> int:
        return len(self._of.get(uuid, ()))

    def remove_node(self, uuid: bytes) -> list[tuple[K, int]]:
        """Drop all rows of a node whose connection is lost, and return each as (name, servers)."""
        self._received.pop(uuid, None)
        rows = [(name, self._rows[name][uuid]) for name in self._of.get(uuid, ())]
        for name, _ in rows:
            self._drop(uuid, name)
        return rows

    def drop_names(self, names: Iterable[K]) -> None:
        """Drop all rows of names that are no longer watched here."""
        for name in names:
            for uuid in list(self._rows.get(name, ())):
                self._drop(uuid, name)

    def _drop(self, uuid: bytes, name: K) -> None:
        rows, names = self._rows[name], self._of[uuid]
        del rows[uuid]
        self._drop_note(uuid, name)
        del names[name]
        if not rows:
            del self._rows[name]
        if not names:
            del self._of[uuid]

    def _drop_note(self, uuid: bytes, name: K) -> None:
        notes = self._notes.get(name)
        if notes is not None and notes.pop(uuid, None) is not None and not notes:
            del self._notes[name]
