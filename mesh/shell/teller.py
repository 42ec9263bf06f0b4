"""Where does a thread say what people should read? On the loop: to the node, or to the log without one."""

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


class Teller:
    """The way from threads, and from what is made before its node, to who hears them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._hear: Hearer = _to_log

    def of(self, kind: str) -> Tell:
        """A `tell` for that kind; any thread may call it."""

        def tell(level: str, text: str) -> None:
            self._loop.call_soon_threadsafe(self._tell, kind, level, text)

        return tell

    @contextmanager
    def to(self, hear: Hearer) -> Iterator[None]:
        """A node is there, and hears; behind it, all goes to the log again."""
        self._hear = hear
        try:
            yield
        finally:
            self._hear = _to_log

    def _tell(self, kind: str, level: str, text: str) -> None:
        self._hear(kind, text, level)
