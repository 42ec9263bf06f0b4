"""Groups lines into segments. A segment opens with its first line, and closes when long or old enough."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from mesh.local.segmentfiles import OpenSegment, make_directories
from mesh.local.segmentkeeper import SegmentKeeper
from mesh.local.troubles import Troubles
from mesh.snapshots import segment
from mesh.snapshots.line import HistoryLine, encode
from mesh.snapshots.segment import SegmentName
from mesh.store.room import Tell

AGAIN = 10.0  # s from a failure to the next attempt


class SegmentWriter:
    """Writes the lines of one boot of a node; `name` is that of the first segment.

    Disk errors are reported, not raised. `lines`, `bytes` and `segments` count closed segments, `lost` counts
    lines that will never be in a closed segment.
    """

    def __init__(self, place: Path, name: SegmentName, limit: int, tell: Tell) -> None:
        self.lines = self.bytes = self.segments = self.lost = 0
        self.troubles = Troubles(tell)
        self.keeper = SegmentKeeper(place, name.uuid8, limit, self.troubles)
        self._place = place
        self._next = name
        self._open: OpenSegment | None = None
        self._opened = 0.0
        self._try_from = 0.0  # time of the next attempt after a failure
        self._taken = 0  # lines

    def recover_segments(self, now: float) -> None:
        self._next = replace(self._next, number=self.keeper.recover_segments(self._next.boot, now) + 1)
        try:
            make_directories(self._place, Path(self._place.anchor), 0o700)
        except OSError as error:
            self._fail(error, now)

    def deadline(self) -> float | None:
        """Return the time at which `write` must close the segment, or `None` if no segment is open."""
        return None if self._open is None else self._opened + segment.SECONDS

    def write(self, lines: Sequence[HistoryLine], now: float, *, last: bool = False) -> None:
        """Write lines, and close the segment if it is long or old enough, or after the `last` lines.

        For AGAIN s after a failure, lines that would need a new segment are lost.
        """
        self._taken += len(lines)
        try:
            if lines and (self._open is not None or now >= self._try_from):
                self._write(lines, now)
            if self._open is not None and (last or segment.is_full(self._open.bytes, self._opened, now)):
                self._finish(self._open, now)
        except Exception as error:  # a bug must not end the thread either
            self._fail(error, now)
        self.lost = self._taken - self.lines - (0 if self._open is None else self._open.lines)

    def _write(self, lines: Sequence[HistoryLine], now: float) -> None:
        encoded = [content for line in lines if (content := self._encoded(line, now))]
        if not encoded:
            return
        if self._open is None:
            name = self._next
            # Opening a segment may fail, so its number is used up before the attempt.
            self._next = replace(name, number=name.number + 1)
            self._opened = now
            self._open = OpenSegment(self._place, name, segment.hour(lines[0].ts))
        self._open.write(encoded)

    def _encoded(self, line: HistoryLine, now: float) -> bytes:
        """Return the encoded line, or b"" for a line that cannot be encoded, such as a lone surrogate."""
        try:
            return encode(line)
        except (TypeError, ValueError, OverflowError) as error:
            text = f"A snapshot of kind {line.kind!r} cannot be written and is lost: {error}."
            self.troubles.happens("encode", text, now)
            return b""

    def _finish(self, opened: OpenSegment, now: float) -> None:
        self._open = None
        closed = opened.finish()
        if closed is None:
            return
        self.lines += opened.lines
        self.bytes += opened.bytes
        self.segments += 1
        self.troubles.goes_well(
            "write", f"Snapshots are written again. {self.lost:,} lines were lost since this start.", now
        )
        self.keeper.add(closed, now)

    def _fail(self, error: Exception, now: float) -> None:
        self._try_from = now + AGAIN
        why = (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"
        self.troubles.happens(
            "write",
            f"Snapshots cannot be written to {self._place}: {why}. They are lost until this "
            f"is fixed; the node retries every {AGAIN:g} s.",
            now,
        )
        if self._open is not None:
            with contextlib.suppress(Exception):
                self._finish(self._open, now)  # complete lines are valid
