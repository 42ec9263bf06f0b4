"""The peers and clients that watch names, and the rows that each has yet to receive.

Each watcher gets absolute rows on an ordered connection, once per event: a thousand registrations in one
event make one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from mesh.core.presence.registry import ServedName
from mesh.errors import RemoteError
from mesh.wire.commands import Row, Serving, Watch

W = TypeVar("W")  # watcher: a peer or a client's session
PART = 48 * 1024  # approximate bytes of rows per message
ROW = 24  # bytes of a row without its name


class Watcher(Generic[W]):
    """A watcher on its current connection."""

    def __init__(self, who: W) -> None:
        self.who = who
        self.names: dict[ServedName, None] = {}
        self.told = 0  # messages sent
        self.knows = -1  # last version received in full
        self.confirmed = -1  # last version confirmed by us
        self.due: dict[ServedName, None] = {}
        self._before: dict[ServedName, None] | None = None  # names not repeated in a full list so far

    def apply_command(self, command: Watch, most: int) -> tuple[list[ServedName], list[ServedName]]:
        """Apply a command, and return (new names, removed names). Raises: RemoteError for too many names."""
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
            raise RemoteError(f"more than {most:,} addresses are watched at once", code="TOO_MANY_NAMES")
        self.due.update(dict.fromkeys(command.add))
        return new, gone


class Watchers(Generic[W]):
    """The watchers of names, with their due rows.

    `rows(name)` returns the rows of a name. A watcher may have at most `most` names.
    """

    def __init__(self, rows: Callable[[ServedName], Sequence[Row]], most: int) -> None:
        self._rows = rows
        self._most = most
        self._all: dict[W, Watcher[W]] = {}
        self._of: dict[ServedName, dict[W, None]] = {}
        self._due: dict[W, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    def apply_command(self, who: W, command: Watch) -> tuple[list[ServedName], list[ServedName]]:
        """Apply a watcher's command, and return (new names, removed names)."""
        watcher = self._all.get(who)
        if watcher is None:
            watcher = self._all[who] = Watcher(who)
        new, gone = watcher.apply_command(command, self._most)
        for name in new:
            self._of.setdefault(name, {})[who] = None
        self._unwatched(who, gone)
        self._due[who] = None
        return new, gone

    def remove_watcher(self, who: W) -> Iterable[ServedName]:
        """Remove a watcher whose connection is lost, and return its names."""
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

    def mark_changed(self, name: ServedName) -> None:
        for who in self._of.get(name, ()):
            self._all[who].due[name] = None
            self._due[who] = None

    def pending_updates(self) -> Iterator[tuple[W, Serving]]:
        """Yield the due messages of each watcher."""
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
    """Split the rows into messages, with all rows of a name in one message."""
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
