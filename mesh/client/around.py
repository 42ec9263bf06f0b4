"""What is around a client that has no sockets? Its connections, its clocks, and where its node is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from mesh.client.access import Access
from mesh.errors import Refused
from mesh.security.keys import Keys
from mesh.streams.outbox import Outbox


class Timer(Protocol):
    """Something that will be called, unless it is cancelled."""

    def cancel(self) -> None: ...


class Wires(Protocol):
    """The connections of a client: as `mesh.transport.Sockets`, as far as it dials."""

    def dial(self, key: Any, address: str, keys: Keys | None = None) -> None: ...
    def send(self, key: Any, frames: list[bytes]) -> None: ...
    def look(self, key: Any) -> None: ...
    def hang_up(self, key: Any) -> None: ...
    def close(self) -> None: ...


class Around(Protocol):
    """`time` in s, of any clock that does not go back, and `wall` in ns since 1970.

    `outbox`: where the client keeps what is not answered; None: in one of its own.
    """

    outbox: Outbox | None

    def find(self, home: str) -> Access:
        """As `Way.find`."""

    def time(self) -> float: ...
    def wall(self) -> int: ...
    def call_at(self, when: float, function: Callable[[], None], /) -> Timer: ...

    def wires(
        self,
        loop: asyncio.AbstractEventLoop,
        came: Callable[[Any, str, bool, str], None],
        received: Callable[[Any, list[bytes]], None],
        gone: Callable[[Any], None],
        idle: Callable[[], None],
        *,
        failed: Callable[[Any, Refused], None],
    ) -> Wires:
        """Connections that nobody has dialled yet; the arguments are those of Sockets."""
