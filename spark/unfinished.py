"""Segments that may still grow, such as a file that is being copied.

A node gives a segment its name when the segment is complete. Copies by cp or scp have their names from the
start, and a stream opens no file twice. Segments that were changed recently, or end within a line, are
therefore examined again.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

NAME = "_unfinished.json"  # in the history
# Seconds since the last change, by its machine's clock, within which a file may still grow.
FRESH = 600.0
QUIET = 60.0  # s without changes until a file is complete
PATIENCE = 86_400.0  # s after which an incomplete end is a bad line


class Read(NamedTuple):
    """A segment as it was read.

    `path` is an address, and `changed` the time of its last change in s since 1970. `torn` means that its
    last line was incomplete and left out.
    """

    path: str
    bytes: int
    changed: float
    torn: bool


class Open(NamedTuple):
    """A segment that may grow: its size in bytes, and when it was read with that size, in s since 1970.

    `torn` is that of Read.
    """

    bytes: int
    since: float
    torn: bool


class Unfinished:
    """Segments that may grow, by address.

    Times are s since 1970, by the local clock.
    """

    def __init__(self, text: str | None = None) -> None:
        self.open: dict[str, Open] = _parsed(text)
        self._before = dict(self.open)

    def record_read(self, reads: Iterable[Read], now: float) -> None:
        """Record the segments in `reads` that may still grow, and remove the others in `reads`."""
        for it in reads:
            if it.torn or it.changed > now - FRESH:
                self.open[it.path] = Open(it.bytes, now, it.torn)
            else:
                self.open.pop(it.path, None)

    def look(self, sizes: Mapping[str, int | None], now: float) -> list[str]:
        """Return the segments to read again, and remove complete and deleted ones.

        A segment is read again if its size has changed, or if its end stayed incomplete for PATIENCE seconds.
        `sizes` has the present size of each segment in bytes; None means deleted.
        """
        again = []
        for path, size in sizes.items():
            known = self.open[path]
            if size is None:
                del self.open[path]
            elif size != known.bytes or (known.torn and now - known.since > PATIENCE):
                again.append(path)
            elif not known.torn and now - known.since > QUIET:
                del self.open[path]
        return again

    @property
    def has_changed(self) -> bool:
        """Whether a segment was added, changed or removed since this object was made."""
        return self.open != self._before

    def encode(self) -> str:
        return json.dumps(self.open)


def _parsed(text: str | None) -> dict[str, Open]:
    """Return the segments that `encode` wrote, or none if `text` is damaged or None.

    After damage, lines that a recorded segment gains later are never read.
    """
    try:
        read = json.loads(text or "{}")
        return {
            str(path): Open(int(size), float(since), bool(torn)) for path, (size, since, torn) in read.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}
