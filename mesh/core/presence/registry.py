"""Who serves what at other nodes, as far as they have said?"""

# Law 1: a row is what a node has said last on the connection that stands: with that it goes.
# Law 2: rows are absolute. Whoever says 0, or nothing in a full account, serves it no more.

from __future__ import annotations

from collections.abc import Iterable, Mapping

ServedName = tuple[str, str]  # kind and name of what is served
NOBODY: Mapping[bytes, int] = {}
NOTHING: Mapping[bytes, bytes] = {}


class Registry:
    """How many serve each name at each node, by its uuid; only where there is one at least."""

    def __init__(self) -> None:
        self._rows: dict[ServedName, dict[bytes, int]] = {}
        self._notes: dict[ServedName, dict[bytes, bytes]] = {}  # where there are any
        self._of: dict[bytes, set[ServedName]] = {}

    def servers(self, name: ServedName) -> Mapping[bytes, int]:
        """The nodes where it is served, and by how many."""
        return self._rows.get(name, NOBODY)

    def notes(self, name: ServedName) -> Mapping[bytes, bytes]:
        """What those nodes say of it beside that."""
        return self._notes.get(name, NOTHING)

    def names(self) -> Iterable[ServedName]:
        """All names that somebody serves."""
        return self._rows

    def told(self, uuid: bytes, name: ServedName, consumers: int, note: bytes = b"") -> int | None:
        """A node says so; how many more are that than before? None: it says what it has said before."""
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

    def count(self, uuid: bytes) -> int:
        """How many names a node serves."""
        return len(self._of.get(uuid, ()))

    def lost(self, uuid: bytes) -> list[tuple[ServedName, int]]:
        """Nothing that a node has said counts any more; returns what that was."""
        rows = [(name, self._rows[name][uuid]) for name in sorted(self._of.get(uuid, ()))]
        for name, _ in rows:
            self._drop(uuid, name)
        return rows

    def forget(self, names: Iterable[ServedName]) -> None:
        """Nobody here wants to know of these."""
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
