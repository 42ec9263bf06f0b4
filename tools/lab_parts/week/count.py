"""Counts the messages of a week: none may be lost, except after a restore as docs/backup.md says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.lab_parts import ledger
from tools.lab_parts.ledger import Came, Count, Pairs, counted

Window = tuple[int, int]  # first and last number of a publisher


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore of a node.

    `since` has the first and last number of each publisher that were answered between the backup and the loss
    of the disk. `came` has the records of all subscribers after the loss and before the restore.
    """

    node: str
    since: Mapping[str, Window]
    came: Mapping[str, Any]


@dataclass(slots=True)
class Weekly:
    """The counts of one subscriber.

    `gone` counts the lost messages that the restored node may lose, and `again` the doubled and disordered
    messages since its restore.
    """

    count: Count = field(default_factory=Count)
    gone: int = 0
    again: int = 0

    @property
    def missing(self) -> int:
        return self.count.lost + self.gone


def count(said: Mapping[str, Any], came: Mapping[str, Any], restored: Restored | None) -> dict[str, Weekly]:
    """Return the counts of each subscriber.

    In its records, a publisher is identified by its place in `said`. Publishers and subscribers have the
    names of their nodes.
    """
    return {
        name: _of(
            name,
            {publisher: book["answered"] for publisher, book in said.items()},
            {publisher: _book(found, str(who)) for who, publisher in enumerate(said)},
            restored,
        )
        for name, found in came.items()
    }


def _of(
    name: str, answered: Mapping[str, Pairs], books: Mapping[str, Any], restored: Restored | None
) -> Weekly:
    found = Weekly()
    for who, (publisher, numbers) in enumerate(answered.items()):
        book = books[publisher]
        if restored is None or restored.node not in (name, publisher):
            found.count += counted(numbers, book)
            continue
        first, last = restored.since[publisher]
        outside, inside = _parted(numbers, first, last)
        whole = counted(outside, book)
        before = _book(restored.came[name], str(who))
        found.again += book["doubled"] - before["doubled"] + book["disordered"] - before["disordered"]
        found.gone += counted(inside, book).lost
        owed = whole.owed + ledger.size(inside)
        found.count += Count(owed, whole.lost, before["doubled"], before["disordered"])
    return found


def _book(found: Any, who: str) -> Any:
    return found["came"].get(who, Came().described())


def _parted(pairs: Pairs, first: int, last: int) -> tuple[Pairs, Pairs]:
    """Return the numbers outside of `first` to `last`, and those within."""
    below = [[a, min(b, first - 1)] for a, b in pairs if a < first]
    above = [[max(a, last + 1), b] for a, b in pairs if b > last]
    within = [[max(a, first), min(b, last)] for a, b in pairs if a <= last and b >= first]
    return below + above, within
