"""Passes reports of threads to the node on the loop, or to the log while there is no node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mesh.store.room import Tell

log = logging.getLogger("mesh.node")
Hearer = Callable[[str, str, str], None]  # kind, text, level


def _to_log(kind: str, text: str, level: str) -> None:
    log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)


class EventReporter:
    """Passes reports from threads, and from objects that were made before the node, to a receiver."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._hear: Hearer = _to_log

    def reporter_of(self, kind: str) -> Tell:
        """Return a function that reports events of `kind`.

        Any thread may call the returned function.
        """

        def tell(level: str, text: str) -> None:
            self._loop.call_soon_threadsafe(self._report, kind, level, text)

        return tell

    @contextmanager
    def to(self, hear: Hearer) -> Iterator[None]:
        """Pass reports to `hear` for the block, and to the log afterwards."""
        self._hear = hear
        try:
            yield
        finally:
            self._hear = _to_log

    def _report(self, kind: str, level: str, text: str) -> None:
        self._hear(kind, text, level)
