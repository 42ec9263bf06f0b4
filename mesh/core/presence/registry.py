"""The names served at other nodes, as these have reported."""

# Law 1: a row is the latest report of a node on its open connection, and ends with the connection.
# Law 2: rows are absolute. A count of 0, or absence from a full report, means not served.

from __future__ import annotations

from collections.abc import Iterable, Mapping

ServedName = tuple[str, str]  # kind and name
NOBODY: Mapping[bytes, int] = {}
NOTHING: Mapping[bytes, bytes] = {}


class Registry:
    """The number of servers of each name at each node, by uuid.

    A number of 0 has no entry.
    """

    def __init__(self) -> None:
        self._rows: dict[ServedName, dict[bytes, int]] = {}
        self._notes: dict[ServedName, dict[bytes, bytes]] = {}  # only non-empty ones
        self._of: dict[bytes, set[ServedName]] = {}

    def servers(self, name: ServedName) -> Mapping[bytes, int]:
        """Return the number of servers of the name at each node, by uuid."""
        return self._rows.get(name, NOBODY)

    def notes(self, name: ServedName) -> Mapping[bytes, bytes]:
        """Return the notes about the name, by uuid of the node."""
        return self._notes.get(name, NOTHING)

    def names(self) -> Iterable[ServedName]:
        """Return all names with at least one server."""
        return self._rows

    def record(self, uuid: bytes, name: ServedName, consumers: int, note: bytes = b"") -> int | None:
        """Store a report; return the change in the number, or None if the report repeats the last one."""
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
        self._of.setdefault(uuid, set()).add(name)
        self._drop_note(uuid, name)
        if note:
            self._notes.setdefault(name, {})[uuid] = note
        return change

    def count_names(self, uuid: bytes) -> int:
        return len(self._of.get(uuid, ()))

    def remove_node(self, uuid: bytes) -> list[tuple[ServedName, int]]:
        """Drop all reports of a node, and return them."""
        rows = [(name, self._rows[name][uuid]) for name in sorted(self._of.get(uuid, ()))]
        for name, _ in rows:
            self._drop(uuid, name)
        return rows

    def drop_names(self, names: Iterable[ServedName]) -> None:
        """Drop names that are no longer watched here."""
        for name in names:
            for uuid in list(self._rows.get(name, ())):
                self._drop(uuid, name)

    def _drop(self, uuid: bytes, name: ServedName) -> None:
        rows, names = self._rows[name], self._of[uuid]
        del rows[uuid]
        self._drop_note(uuid, name)
        names.discard(name)
        if not rows:
            del self._rows[name]
        if not names:
            del self._of[uuid]

    def _drop_note(self, uuid: bytes, name: ServedName) -> None:
        notes = self._notes.get(name)
        if notes is not None and notes.pop(uuid, None) is not None and not notes:
            del self._notes[name]
