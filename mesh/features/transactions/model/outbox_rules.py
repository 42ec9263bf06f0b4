"""The rules of an outbox in a user's database: which sender numbers rows, and the number of each row.

All times are in µs since 1970, by the clock of the database.
"""

# Law 1: a number of a stream is given once, although the table may be restored from a backup: then the next
#   number is that of the clock.
# Law 2: only the owner of a stream gives numbers, and only while its lease runs by its own clock.
# Law 3: within a domain, rows get numbers in the order of their ids.

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

STREAMS = 8
TEMPORARY = frozenset(("QUEUE_FULL", "STORE_FULL", "TAILBACK_FULL"))  # refusals that pass


def stream_of(order: str) -> int:
    """Return the stream of all rows that have this order; "" is stream 0."""
    return crc32(order.encode()) % STREAMS if order else 0


def first_number(next_number: int, clock: int, left_at: int) -> int:
    """Return the number of the next outbox row without one.

    `next_number` is in the row of the stream. `left_at` is the value that this sender last wrote there, or 0
    after it has taken the stream. A row behind that was restored from a backup, so the number jumps to the
    clock (µs).
    """
    is_restored = next_number < left_at
    return max(next_number, clock) if is_restored or not left_at else next_number


def next_attach(attach: int, clock: int) -> int:
    """Return the number of the next visit of the stream's session, above all before, also after a restore."""
    return max(attach + 1, clock)


def may_use_stream(owner: object, sender: object, is_lease_over: bool) -> bool:
    """Return whether a sender may number rows: it owns the stream, and its lease runs by its own clock."""
    return owner == sender and not is_lease_over


def numbered(rows: Sequence[tuple[int, str]], first: int) -> list[tuple[int, int]]:
    """Return (number, id) for rows (id, domain) in order of id: consecutive numbers for each domain."""
    by_domain: dict[str, list[int]] = {}
    for id_, domain in rows:
        by_domain.setdefault(domain, []).append(id_)
    return list(enumerate((id_ for ids in by_domain.values() for id_ in ids), first))


def is_temporary(code: str) -> bool:
    """Return whether a refused row gets another number later, instead of waiting for an operator."""
    return code in TEMPORARY
