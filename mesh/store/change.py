"""Combines the operations of a commit into one change."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from mesh.errors import StoreError
from mesh.operations import BOOT, FIRST_POSITION, TABLES, Append, Delete, Drop, Op, Put, Rewrite, StoreReach
from mesh.streams.ranges import Ranges


class StoreProgress(NamedTuple):
    """Position and commit counters of one store. They only increase."""

    next_position: int
    commits: int

    @property
    def reach(self) -> StoreReach:
        return StoreReach(self.next_position - 1, self.commits)


@dataclass(slots=True)
class Change:
    """Net result of some operations. Additions that a later operation removes are never written.

    `first` and `next_position` are the store's next positions before and after. `appended` and `rewritten`
    hold (header, body) by position, of new envelopes and of envelopes of earlier commits. `dropped` has
    positions of earlier commits, and `rows` the last value by (table, key), `None` for a deleted row.
    """

    first: int
    next_position: int
    appended: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    rewritten: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    rows: dict[tuple[str, bytes], bytes | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.next_position > self.first or bool(self.rewritten or self.dropped or self.rows)

    def empty_positions(self) -> Ranges:
        empty, place = Ranges(), self.first
        for position in (*self.appended, self.next_position):
            if place < position:
                empty.add(place, position - 1)
            place = position + 1
        return empty

    def append(self, position: int, header: bytes, body: bytes) -> None:
        if position > self.next_position:
            self._begin_boot(position)
        if position != self.next_position:
            raise _bad(f"position {position} was appended where {self.next_position} is next")
        self.appended[position] = (header, body)
        self.next_position += 1

    def drop(self, position: int) -> None:
        if position > self.next_position:
            self._begin_boot(position)
        if position > self.next_position or position < FIRST_POSITION:
            raise _bad(f"position {position} was dropped where {self.next_position} is next")
        if position == self.next_position:
            self.next_position += 1
        elif position < self.first:
            self.dropped.add(position)
            self.rewritten.pop(position, None)
        else:
            self.appended.pop(position, None)

    def _begin_boot(self, position: int) -> None:
        """Continue at `position` if a boot begins with it. The skipped positions stay empty."""
        if position % BOOT == 0:
            self.next_position = position

    def rewrite(self, position: int, header: bytes, body: bytes) -> None:
        if not FIRST_POSITION <= position < self.next_position:
            raise _bad(f"position {position} was rewritten where {self.next_position} is next")
        if position in self.appended:
            self.appended[position] = (header, body)
        elif position < self.first and position not in self.dropped:
            self.rewritten[position] = (header, body)

    def set_row(self, table: str, key: bytes, value: bytes | None) -> None:
        if table not in TABLES:
            raise _bad(f"{table[:80]!r} is not one of the tables {', '.join(TABLES)}")
        self.rows[table, key] = value


def fold(ops: Iterable[Op], next_position: int) -> Change:
    """Combine the operations in order. Raises: StoreError BAD_OPS, as `Store.commit`."""
    change = Change(next_position, next_position)
    for op in ops:
        match op:
            case Append(position, header, body):
                change.append(position, header, body)
            case Drop(positions):
                for position in positions:
                    change.drop(position)
            case Rewrite(position, header, body):
                change.rewrite(position, header, body)
            case Put(table, key, value):
                change.set_row(table, key, value)
            case Delete(table, key):
                change.set_row(table, key, None)
    return change


def _bad(what: str) -> StoreError:
    return StoreError(
        f"The whole commit was refused: {what}.",
        hint="This is a bug in the program that wrote it; the store itself is sound.",
        code="BAD_OPS",
    )
