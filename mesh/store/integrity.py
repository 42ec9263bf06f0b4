"""Is all there that was committed, and as it was? Checksums, and the account of every position."""

import zlib
from collections.abc import Collection, Iterable, Iterator
from struct import Struct, error

from mesh.operations import FIRST_POSITION, Stored
from mesh.streams.ranges import Ranges

_pack_head, _pack_size, _crc32 = Struct(">qQ").pack, Struct(">Q").pack, zlib.crc32
_SHOWN = 12  # losses that an error spells out; the rest it counts


def checksum(*fields: object) -> int:
    """CRC-32 over 64-bit integers and byte strings with their lengths; TypeError for anything else."""
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
    """The same of an envelope, in half the time; TypeError and struct.error where that says TypeError."""
    parts = _pack_head(position, len(header)), header, _pack_size(len(body)), body
    return _crc32(b"".join(parts))  # to put them together takes less time than one more call


class Audit:
    """Takes rows as they are read, and notes by name what cannot be as it was written.

    Law: each position below the next one either holds an envelope or is in the account of dropped
    ones, and never both. So a row that vanished is found, though rows come and go in any order.
    """

    def __init__(self) -> None:
        self._losses: list[str] = []
        self._account = Ranges()

    def is_sound(self, name: str, fields: tuple[object, ...], crc: object) -> bool:
        """Is this row as it was written? If not, it is noted under its name."""
        try:
            if checksum(*fields) == crc:
                return True
        except TypeError:
            pass  # one flipped bit can make a number of what was bytes
        self.note(f"{name} is damaged")
        return False

    def envelopes(self, rows: Iterable[tuple[int, bytes, bytes, object]]) -> Iterator[Stored]:
        """Of rows (position, header, body, checksum) those that are as they were written; all are counted."""
        first, last = 0, -1  # positions in a row: to count each by itself takes longer than to read it
        for position, header, body, crc in rows:
            try:
                is_sound = envelope_checksum(position, header, body) == crc
            except (TypeError, error):
                is_sound = False
            if is_sound:
                yield position, header, body
            else:
                self.note(f"envelope {position} is damaged")
            if position != last + 1:
                if first <= last:
                    self.count(first, last)
                first = position
            last = position
        if first <= last:
            self.count(first, last)

    def dropped(self, rows: Iterable[tuple[int, int, object]]) -> None:
        """Take rows (first, last, checksum) of the account of what was dropped."""
        for first, last, crc in rows:
            if self.is_sound(f"the account of what was dropped from {first} on", (first, last), crc):
                self.count(first, last)

    def count(self, first: int, last: int) -> None:
        """Something is known of the positions first..last: they hold envelopes, or were dropped."""
        if not FIRST_POSITION <= first <= last:
            self.note(f"out of range: {_positions(first, last)}")
        elif self._account.overlaps(first, last):
            self.note(f"counted twice: {_positions(first, last)}")
        else:
            self._account.add(first, last)

    def finish(self, next_position: int) -> None:
        """All rows were seen: what is unaccounted for is missing."""
        for first, last in self._account.missing(FIRST_POSITION, next_position - 1):
            self.note(f"missing: {_positions(first, last)}")
        if self._account.top() >= next_position:
            self.note(f"past the end at {next_position}: envelope {self._account.top()}")

    def unaccounted(self, wanted: Ranges) -> list[tuple[int, int]]:
        """What of these positions nothing is known of yet."""
        return [gap for first, last in wanted for gap in self._account.missing(first, last)]

    def lacks(self, wanted: Ranges) -> None:
        """All rows about these positions were seen: what is unaccounted for is missing."""
        for first, last in self.unaccounted(wanted):
            self.note(f"missing: {_positions(first, last)}")

    def note(self, loss: str) -> None:
        self._losses.append(loss)

    @property
    def losses(self) -> str:
        """The losses, in words; empty when there are none."""
        more = len(self._losses) - _SHOWN
        return "; ".join(self._losses[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def possible(positions: Collection[int], end: int) -> Ranges:
    """Those of the positions where an envelope could stand, in a store whose last position is `end`."""
    return Ranges.of(sorted(position for position in positions if FIRST_POSITION <= position <= end))


def _positions(first: int, last: int) -> str:
    return f"envelope {first}" if first == last else f"envelopes {first}..{last}"
