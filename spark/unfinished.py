"""Which segments may grow yet? A file that is just being copied is read as far as it has come, and on later.

A node gives a segment its name when it is whole. Who copies one with cp or scp does not, and a stream opens
no file twice. So what was changed a short while ago, or ends in the middle of a line, is looked at again.
"""

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

NAME = "_unfinished.json"  # in the history
FRESH = 600.0  # s since its last change, by its own machine's clock, in which a file may be one that grows
QUIET = 60.0  # s in which a file must not change until it counts as whole
PATIENCE = 86_400.0  # s after which the torn end of a file is taken for a bad line


class Read(NamedTuple):
    """A segment as it was read: its address, bytes, when it was changed (s since 1970), and whether its last
    line is torn and was left out."""

    path: str
    bytes: int
    changed: float
    torn: bool


class Open(NamedTuple):
    """A segment that may grow, as it is known: its bytes, since when (s since 1970) they are so many."""

    bytes: int
    since: float
    torn: bool


class Unfinished:
    """Segments that may grow, by address. Times are s since 1970, by the clock of who ingests."""

    def __init__(self, text: str | None = None) -> None:
        self.open: dict[str, Open] = _parsed(text)
        self._before = dict(self.open)

    def read(self, reads: Iterable[Read], now: float) -> None:
        """Take note of what was read."""
        for it in reads:
            if it.torn or it.changed > now - FRESH:
                self.open[it.path] = Open(it.bytes, now, it.torn)
            else:
                self.open.pop(it.path, None)

    def look(self, sizes: Mapping[str, int | None], now: float) -> list[str]:
        """Segments that are to be read again, of those that have so many bytes now; None: it is gone."""
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
        """Is it other than what it was read from?"""
        return self.open != self._before

    def encode(self) -> str:
        """The text that the constructor reads."""
        return json.dumps(self.open)


def _parsed(text: str | None) -> dict[str, Open]:
    """A file that is damaged counts for nothing: the worst is a segment that is not read on."""
    try:
        read = json.loads(text or "{}")
        return {
            str(path): Open(int(size), float(since), bool(torn)) for path, (size, since, torn) in read.items()
        }
    except (ValueError, TypeError, AttributeError):
        return {}
