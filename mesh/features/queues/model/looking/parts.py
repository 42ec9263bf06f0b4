"""Combines the rows that the nodes report for the parts of a queue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from mesh.values import PRIORITY
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
MOST = 2**53  # larger or negative figures of a peer are ignored


NONE: Mapping[str, QueuePart | None] = {}


def part_of(row: QueueRow) -> QueuePart:
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
    """Return the row of the whole queue, combined from the rows of its nodes.

    `mine` is the row of the asked node, which provides the terms. `away` has the unreachable nodes that
    had messages in their queues, each with the last known part of this queue, or `None`.
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
    """Return the sum of `figures`, without negative ones and those above MOST."""
    return sum(figure for figure in figures if 0 <= figure <= MOST)


def by_name(pages: Iterable[Sequence[QueueRow]]) -> dict[str, list[QueueRow]]:
    """Return the rows of all pages by queue name; the rows of a queue are in the order of the pages."""
    found: dict[str, list[QueueRow]] = {}
    for page in pages:
        for row in page:
            found.setdefault(row.name, []).append(row)
    return found


def next_ones(
    pieces: Iterable[tuple[Envelope, bytes]], count: int, size: int
) -> list[tuple[Envelope, bytes]]:
    """Return the next messages of several parts in delivery order, with their delivery counts.

    The result has at most `count` messages. It has at most `size` bytes, unless the first piece alone has
    more.
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
