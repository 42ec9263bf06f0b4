"""What is served here, and who wants to know of it?

Each watcher is told absolute rows on an ordered connection, once a turn: a thousand that register in one
turn are one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from mesh.core.presence.registry import ServedName
from mesh.errors import RemoteError
from mesh.wire.commands import Row, Serving, Watch

W = TypeVar("W")  # who watches: a peer, or a client's session
PART = 48 * 1024  # bytes of rows in one message, about
ROW = 24  # bytes of one beside its name


class Watcher(Generic[W]):
    """One that wants to know, on the connection that it has now."""

    def __init__(self, who: W) -> None:
        self.who = who
        self.names: dict[ServedName, None] = {}
        self.told = 0  # messages
        self.knows = -1  # the version that it has said whole,
        self.confirmed = -1  # and was told that we know
        self.due: dict[ServedName, None] = {}
        self._before: dict[ServedName, None] | None = None  # what a full account has not named again by now

    def says(self, command: Watch, most: int) -> tuple[list[ServedName], list[ServedName]]:
        """(names that are new, names that fall). RemoteError for more than one may watch."""
        if command.full and self._before is None:
            self._before = dict(self.names)
        new = []
        for name in command.add:
            if self._before is not None:
                self._before.pop(name, None)
            if name not in self.names:
                self.names[name] = None
                new.append(name)
        gone = [name for name in command.remove if name in self.names]
        if not command.more:
            self.knows = command.version
            gone += self._before or ()
            self._before = None
        for name in gone:
            self.names.pop(name, None)
            self.due.pop(name, None)
        if len(self.names) > most:
            raise RemoteError(f"more than {most:,} names are watched at once", code="TOO_MANY_NAMES")
        self.due.update(dict.fromkeys(command.add))
        return new, gone


class Watchers(Generic[W]):
    """All of them. `rows(name)` says all that there is to say of a name; each may watch so many of them."""

    def __init__(self, rows: Callable[[ServedName], Sequence[Row]], most: int) -> None:
        self._rows = rows
        self._most = most
        self._all: dict[W, Watcher[W]] = {}
        self._of: dict[ServedName, dict[W, None]] = {}
        self._due: dict[W, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def says(self, who: W, command: Watch) -> tuple[list[ServedName], list[ServedName]]:
        """One says what it wants to know: (names that are new to it, names that fall)."""
        watcher = self._all.get(who)
        if watcher is None:
            watcher = self._all[who] = Watcher(who)
        new, gone = watcher.says(command, self._most)
        for name in new:
            self._of.setdefault(name, {})[who] = None
        self._unwatched(who, gone)
        self._due[who] = None
        return new, gone

    def lost(self, who: W) -> Iterable[ServedName]:
        """Its connection is gone; returns what it has watched."""
        watcher = self._all.pop(who, None)
        self._due.pop(who, None)
        if watcher is None:
            return ()
        self._unwatched(who, watcher.names)
        return watcher.names

    def _unwatched(self, who: W, names: Iterable[ServedName]) -> None:
        for name in names:
            watching = self._of.get(name, {})
            watching.pop(who, None)
            if not watching:
                self._of.pop(name, None)

    def changed(self, name: ServedName) -> None:
        """There is something new to say of it."""
        for who in self._of.get(name, ()):
            self._all[who].due[name] = None
            self._due[who] = None

    def said(self) -> Iterator[tuple[W, Serving]]:
        """The news for each of those for whom there is any."""
        while self._due:
            who, _ = self._due.popitem()
            watcher = self._all[who]
            due, watcher.due = watcher.due, {}
            parts = list(_parts(map(self._rows, due)))
            if watcher.knows == watcher.confirmed and not parts:
                continue
            for rows in parts[:-1]:
                watcher.told += 1
                yield who, Serving(watcher.told, watcher.confirmed, rows)
            watcher.confirmed = watcher.knows
            watcher.told += 1
            yield who, Serving(watcher.told, watcher.knows, parts[-1] if parts else ())


def _parts(names: Iterable[Sequence[Row]]) -> Iterator[tuple[Row, ...]]:
    """All rows of a name stand together."""
    part: list[Row] = []
    size = 0
    for rows in names:
        part += rows
        size += sum(ROW + 4 * len(row.name) + len(row.node) + len(row.note) for row in rows)
        if size >= PART:
            yield tuple(part)
            part, size = [], 0
    if part:
        yield tuple(part)
