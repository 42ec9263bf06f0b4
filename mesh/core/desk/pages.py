"""How much of a long list goes into one reply? What does not fit comes with the next question."""

# A reply has a frame of CALL_FRAME bytes, and lists grow with the mesh. So whoever answers with a list puts
# it in the order of a text that names each place in it, and says as `next` after which place to ask on.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mesh.wire.codec import pack
from mesh.wire.limits import KIB

PAGE = 128 * KIB  # bytes of rows in one reply
ROWS = 1000  # at most
NAMES = 256  # of nodes, in a list that is only told beside an answer
SHOWN = 8  # of nodes, in a sentence


def page(
    places: Iterable[str], row: Callable[[str], Any], said: Mapping[str, Any], size: int = PAGE
) -> tuple[list[Any], str]:
    """(rows, the place after which to go on; "" = that is all). `said`: a question's `after` and `limit`;
    `row` is None for what is gone."""
    after, most = asked(said)
    rows: list[Any] = []
    last = ""
    for place in sorted(place for place in places if place > after):
        one = row(place)
        if one is None:
            continue
        size -= len(pack(one))
        if rows and (size < 0 or len(rows) >= most):
            return rows, last
        rows.append(one)
        last = place
    return rows, ""


def asked(said: Mapping[str, Any]) -> tuple[str, int]:
    """After which place, and how many; whatever somebody says."""
    after, limit = said.get("after"), said.get("limit")
    is_number = isinstance(limit, int) and not isinstance(limit, bool) and 0 < limit < ROWS
    return after if isinstance(after, str) else "", limit if is_number else ROWS  # type: ignore[return-value]


def fitting(rows: Iterable[Any], most: int, size: int = PAGE) -> list[Any]:
    """As many of them, in their order, as go into one reply; one at least."""
    found: list[Any] = []
    for one in rows:
        size -= len(pack(one))
        if found and (size < 0 or len(found) >= most):
            break
        found.append(one)
    return found


def listed(names: Iterable[str], most: int = SHOWN) -> str:
    """Names in a sentence, each once, and how many more there are."""
    every: Sequence[str] = sorted(set(names))
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
