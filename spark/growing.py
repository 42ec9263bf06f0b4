"""Segments that were read before they were complete, and the file that records them."""

import time
from collections.abc import Sequence
from urllib.parse import unquote

from mesh.history import unfinished
from mesh.history.files import Files
from mesh.history.unfinished import Read, Unfinished


class Growing:
    """The recorded segments of the history at `to` that may still grow."""

    def __init__(self, files: Files, to: str) -> None:
        self._files = files
        self._place = f"{to}/{unfinished.NAME}"

    def record_read(self, reads: Sequence[Read]) -> list[str]:
        """Record the segments that were read, and return the paths of the segments that seem complete."""
        known = Unfinished(self._files.read(self._place))
        known.record_read(reads, time.time())
        self._remember(known)
        return [it.path for it in reads if it.path not in known.open or self._is_whole(it)]

    def grown(self, source: str) -> list[str]:
        """Return the addresses of segments below `source` to read again, as `Unfinished.look` decides."""
        known = Unfinished(self._files.read(self._place))
        ours = [path for path in known.open if unquote(path).startswith(f"{source}/")]
        found = known.look({path: self._files.size(unquote(path)) for path in ours}, time.time())
        self._remember(known)
        return [unquote(path) for path in found]

    def _is_whole(self, it: Read) -> bool:
        return not it.torn and self._files.size(unquote(it.path)) in (it.bytes, None)

    def _remember(self, known: Unfinished) -> None:
        if known.has_changed:
            self._files.replace_file(self._place, known.encode())
