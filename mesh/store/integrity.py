"""Verifies that committed data is complete and unchanged, by checksums and the account of positions."""

import zlib
from collections.abc import Collection, Iterable, Iterator
from struct import Struct, error

from mesh.operations import FIRST_POSITION, Span, Stored
from mesh.streams.ranges import Ranges

_pack_head, _pack_size, _crc32 = Struct(">qQ").pack, Struct(">Q").pack, zlib.crc32
_SHOWN = 12  # losses in an error's text; the others are counted


def checksum(*fields: object) -> int:
    """Return a CRC-32 over 64-bit integers and length-prefixed byte strings. Raises: TypeError."""
    crc = 0
    for value in fields:
        if isinstance(value, bytes):
            crc = zlib.crc32(value, zlib.crc32(len(value).to_bytes(8, "big"), crc))
        elif isinstance(value, int):
            crc = zlib.crc32(value.to_bytes(8, "big", signed=True), crc)
        else:
            raise TypeError(f"no checksum over {type(value).__name__}")
    return crc


def envelope_checksum(position: int, header: bytes, body: bytes) -> int:
    """Return the checksum of an envelope, twice as fast as `checksum`. Raises: TypeError, struct.error."""
    parts = _pack_head(position, len(header)), header, _pack_size(len(body)), body
    return _crc32(b"".join(parts))  # joining is faster than another call


class Audit:
    """Verifies rows as they are read, and records damage by name.

    Law: each position below the next one either holds an envelope or is in the account of dropped ones, never
    both. Thus a row that vanished is detected, although rows may be deleted in any order.
    """

    def __init__(self) -> None:
        self._losses: list[str] = []
        self._account = Ranges()

    def is_sound(self, name: str, fields: tuple[object, ...], crc: object) -> bool:
        """Return whether a row is unchanged, and record it under `name` if it is not."""
        try:
            if checksum(*fields) == crc:
                return True
        except TypeError:
            pass  # a flipped bit can turn bytes into a number
        self.record_loss(f"{name} is damaged")
        return False

    def envelopes(self, rows: Iterable[tuple[int, bytes, bytes, object]]) -> Iterator[Stored]:
        """Yield the unchanged envelopes of rows (position, header, body, checksum). Count all positions."""
        first, last = 0, -1  # a run of positions: faster than counting each
        for position, header, body, crc in rows:
            try:
                is_sound = envelope_checksum(position, header, body) == crc
            except (TypeError, error):
                is_sound = False
            if is_sound:
                yield position, header, body
            else:
                self.record_loss(f"envelope {position} is damaged")
            if position != last + 1:
                if first <= last:
                    self.count_positions(first, last)
                first = position
            last = position
        if first <= last:
            self.count_positions(first, last)

    def dropped(self, rows: Iterable[tuple[int, int, object]]) -> None:
        """Verify and count rows (first, last, checksum) of dropped positions."""
        for first, last, crc in rows:
            if self.is_sound(f"the record of dropped positions from {first} on", (first, last), crc):
                self.count_positions(first, last)

    def count_positions(self, first: int, last: int) -> None:
        """Count the positions first..last, which hold envelopes or were dropped."""
        if not FIRST_POSITION <= first <= last:
            self.record_loss(f"out of range: {_positions(first, last)}")
        elif self._account.overlaps(first, last):
            self.record_loss(f"counted twice: {_positions(first, last)}")
        else:
            self._account.add(first, last)

    def finish(self, next_position: int) -> None:
        """After all rows were read, record missing positions, and the highest one if it is too high."""
        for first, last in self._account.missing(FIRST_POSITION, next_position - 1):
            self.record_loss(f"missing: {_positions(first, last)}")
        if self._account.top() >= next_position:
            self.record_loss(f"envelope {self._account.top()} is past the end, position {next_position}")

    def unaccounted(self, wanted: Ranges) -> list[tuple[int, int]]:
        """Return the ranges of `wanted` that were not counted so far."""
        return [gap for first, last in wanted for gap in self._account.missing(first, last)]

    def lacks(self, wanted: Ranges) -> None:
        """Record uncounted positions of `wanted` as missing, after all rows about them were read."""
        for first, last in self.unaccounted(wanted):
            self.record_loss(f"missing: {_positions(first, last)}")

    def record_loss(self, loss: str) -> None:
        self._losses.append(loss)

    @property
    def losses(self) -> str:
        """The losses as a text for errors, of which the first 12 are listed; "" if there are none."""
        more = len(self._losses) - _SHOWN
        return "; ".join(self._losses[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def possible(positions: Collection[int], end: int) -> Ranges:
    """Return the positions that may hold an envelope, in a store whose last position is `end`."""
    return Ranges.of(sorted(position for position in positions if FIRST_POSITION <= position <= end))


def within(span: Span, end: int) -> Span | None:
    """Return the part of a span up to `end`, the last position of a store, or `None` if it is empty."""
    first, last = max(span.first, FIRST_POSITION), min(span.last, end)
    return Span(first, last, span.most) if first <= last and span.most > 0 else None


def _positions(first: int, last: int) -> str:
    return f"envelope {first}" if first == last else f"envelopes {first}..{last}"
