"""What do all parts of a queue say together?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mesh.queues.lots.lot import PRIORITY
from mesh.wire.envelope import Envelope
from mesh.wire.replies import QueuePart, QueueRow

SUMS = (
    "ready",
    "out",
    "delayed",
    "going",
    "bytes",
    "consumers",
    "arrives",
    "leaves",
    "dead",
    "acked",
    "redelivered",
)
MOST = 2**53  # what a peer says that is more, or less than nothing, is nothing: nobody has so much


NONE: Mapping[str, QueuePart | None] = {}


def part_of(row: QueueRow) -> QueuePart:
    """What a node says of its own."""
    return QueuePart(
        node=row.node,
        ready=row.ready,
        out=row.out,
        delayed=row.delayed,
        going=row.going,
        bytes=row.bytes,
        consumers=row.consumers,
        oldest=row.oldest,
        arrives=row.arrives,
        leaves=row.leaves,
        dead=row.dead,
    )


def together(
    mine: QueueRow,
    others: Sequence[QueueRow],
    missing: Sequence[str] = (),
    away: Mapping[str, QueuePart | None] = NONE,
) -> QueueRow:
    """All of it; `mine` is the row of the node that was asked, and says how the queue is declared. `away`:
    nodes that are away and had something in their queues, and what of this one, if that is known.
    """
    rows = [mine, *others]
    busy = [row for row in others if row.ready or row.out or row.delayed or row.going or row.consumers]
    sums = {name: total(getattr(row, name) for row in rows) for name in SUMS}
    return replace(
        mine,
        **sums,
        oldest=max(total([row.oldest]) for row in rows),
        in_vain=max(total([row.in_vain]) for row in rows),
        looks_on=any(row.looks_on for row in rows),
        parts=[*map(part_of, [mine, *sorted(busy, key=lambda row: row.node)]), *filter(None, away.values())],
        missing=list(missing),
        away=list(away),
    )


def total(figures: Iterable[float]) -> Any:
    """The sum of what several nodes say."""
    return sum(figure for figure in figures if 0 <= figure <= MOST)


def by_name(pages: Iterable[Sequence[QueueRow]]) -> dict[str, list[QueueRow]]:
    """The rows of each queue, in the order of the pages."""
    found: dict[str, list[QueueRow]] = {}
    for page in pages:
        for row in page:
            found.setdefault(row.name, []).append(row)
    return found


def next_ones(
    pieces: Iterable[tuple[Envelope, bytes]], count: int, size: int
) -> list[tuple[Envelope, bytes]]:
    """The next messages of several parts, so many at most, and of so many bytes, but one piece: with how
    often each was given to somebody.
    """
    found: list[tuple[Envelope, bytes]] = []
    for envelope, tries in sorted(pieces, key=lambda piece: _turn(piece[0])):
        if not count:
            break
        if envelope.count > count:
            envelope, tries = envelope.cut(range(count)), tries[:count]
        size -= len(envelope.body)
        if found and size < 0:
            break
        found.append((envelope, tries))
        count -= envelope.count
    return found


def _turn(envelope: Envelope) -> tuple[int, int]:
    return -(envelope.put[0] if envelope.put else PRIORITY), envelope.sent
