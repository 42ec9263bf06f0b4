"""Splits long lists into pages of one reply each."""

# A reply has a frame of CALL_FRAME bytes, and lists grow with the mesh. An answer sorts its rows by a text
# key, and its `next` is the key after which the following question continues.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from mesh.wire.codec import size_of
from mesh.wire.limits import KIB

PAGE = 128 * KIB  # bytes of rows in one reply
ROWS = 1000  # rows in one reply, at most
NAMES = 256  # names of nodes in a list beside an answer
SHOWN = 8  # names of nodes in a sentence

PageRow = TypeVar("PageRow")


class Paged(Protocol):
    """A question whose answer has pages."""

    @property
    def after(self) -> str:
        """The key after which the page begins."""

    @property
    def limit(self) -> int:
        """The highest number of rows. 0: as many as fit."""


def page(
    places: Iterable[str], row: Callable[[str], PageRow | None], ask: Paged, size: int = PAGE
) -> tuple[list[PageRow], str]:
    """Return (rows, key to continue after), with the rows sorted by key; the key is "" after the last page.

    `row` returns `None` for an entry that has disappeared.
    """
    most = ask.limit if 0 < ask.limit < ROWS else ROWS
    rows: list[PageRow] = []
    last = ""
    for place in sorted(place for place in places if place > ask.after):
        one = row(place)
        if one is None:
            continue
        size -= size_of(one)
        if rows and (size < 0 or len(rows) >= most):
            return rows, last
        rows.append(one)
        last = place
    return rows, ""


def fitting(rows: Iterable[PageRow], most: int, size: int = PAGE) -> list[PageRow]:
    """Return the first rows that fit into one reply: at most `most`, and at least one if there are any."""
    found: list[PageRow] = []
    for one in rows:
        size -= size_of(one)
        if found and (size < 0 or len(found) >= most):
            break
        found.append(one)
    return found


def listed(names: Iterable[str], most: int = SHOWN) -> str:
    """Return the names as text for a sentence: the first `most`, sorted, and the number of the others."""
    every: Sequence[str] = sorted(set(names))
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
