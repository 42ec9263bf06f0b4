"""The stored state of a queued envelope: its row on disk, and how to read the parts of the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.features.queues.model.envelopes.counts import Runs
from mesh.streams.ranges import Ranges
from mesh.wire.codec import pack, reader
from mesh.wire.limits import ENVELOPE_MESSAGES

MOST_TRIES = 255  # limit of the attempt counter
PERHAPS = 256  # added if one more delivery may have happened
MOST_MOVES = 255  # limit of the move counter

LateRun = tuple[int, int, int, int]  # first, last, time it was set, delay (ns)
Going = tuple[Runs, bytes, int]  # messages, target node, number of the move
StoredMove = tuple[tuple[int, ...], bytes, int]  # first, last, ...; then as in Going


class EnvelopeRow(msgspec.Struct, frozen=True, array_like=True):
    """The stored state of an envelope that is no longer in its initial state."""

    done: bytes = b""  # ranges of numbers
    # By number: failed deliveries, plus PERHAPS if one more may have happened.
    tries: dict[int, Annotated[int, Meta(ge=1, le=PERHAPS + MOST_TRIES)]] = {}
    late: tuple[LateRun, ...] = ()  # delayed messages
    going: tuple[StoredMove, ...] = ()  # moves in progress
    moves: Annotated[int, Meta(ge=0, le=MOST_MOVES)] = 0  # completed moves
    given: bytes = b""  # ranges of numbers that consumers may have


read_envelope_row = reader(EnvelopeRow, 64 * ENVELOPE_MESSAGES)


def merged_row(row: bytes, changes: bytes) -> bytes:
    """Return the row of an envelope with the later `changes`, a row that has only changed messages."""
    old, new = read_envelope_row(row) if row else EnvelopeRow(), read_envelope_row(changes)
    done, late = Ranges.unpack(old.done), list(old.late)
    done.add_all(list(Ranges.unpack(new.done)))
    for first, last, *_ in new.late:
        late = list(late_outside(late, first, last))
    tries = {**old.tries, **new.tries}
    return pack(
        [done.pack(), tries, [*late, *new.late], old.going, old.moves, *([old.given] if old.given else ())]
    )


def told_tries(tries: int, most: int) -> int:
    """Return the delivery count that a consumer receives for a value of `LotRow.tries`.

    A possible delivery counts as one. The result is at most `most` - 1, but may be 1 if `most` is 1, because
    a message with `most` failures is dead-lettered.
    """
    return min(sum(divmod(tries, PERHAPS)), max(1, most - 1), MOST_TRIES)


def late_outside(late: Iterable[LateRun], first: int, last: int) -> Iterator[LateRun]:
    """Yield the delayed messages `late` without the messages `first` to `last`."""
    for a, b, said, delay in late:
        if a < first <= b:
            yield a, first - 1, said, delay
        if a <= last < b:
            yield last + 1, b, said, delay
        if b < first or a > last:
            yield a, b, said, delay


def moves_within(stored: Iterable[StoredMove], mine: Ranges) -> list[Going]:
    """Return the stored moves in progress, without messages that are not in `mine`."""
    return [
        (runs, node, number)
        for flat, node, number in stored
        if (runs := [run for run in zip(flat[::2], flat[1::2], strict=False) if mine.covers(*run)])
    ]
