"""The usual carrier of a client's commands: frames over a ZeroMQ socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from mesh.client.access import Access
from mesh.client.core.client import ClientCore
from mesh.client.core.framing import Framing
from mesh.errors import Refused, RemoteError
from mesh.security.keys import Keys
from mesh.transport import Sockets
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


class Wires(Protocol):
    """The connections that a client dials, such as `mesh.transport.Sockets`."""

    def dial(self, key: Any, address: str, keys: Keys | None = None) -> None: ...
    def send(self, key: Any, frames: list[bytes]) -> None: ...
    def read_arrived(self, key: Any) -> None: ...
    def hang_up(self, key: Any) -> None: ...
    def close(self) -> None: ...


class Wired:
    """The sockets of one client, which uses one connection at a time. `turn` executes pending effects.

    `make` creates connections in place of sockets, and `clock` returns the time in s in place of the loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        core: ClientCore,
        turn: Callable[[], None],
        make: Callable[..., Wires] | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._time, self._core, self._turn = clock or loop.time, core, turn
        self._sockets: Wires = (make or Sockets)(
            loop, lambda *_: None, self._frames, self._gone, turn, failed=self._failed
        )
        self._key = 0  # of the connection in use
        self._framing = Framing(lambda frames: None)

    def dial(self, key: int, access: Access) -> Callable[[c.Command, tuple[Envelope, ...]], None]:
        self._key, self._framing = key, Framing(partial(self._sockets.send, key))
        self._sockets.dial(key, access.address, access.curve)
        return self._framing.send_command

    def read_arrived(self) -> None:
        if self._key:
            self._sockets.read_arrived(self._key)

    def hang_up(self, key: int) -> None:
        self._key = 0
        self._sockets.hang_up(key)

    def close(self) -> None:
        """Close the sockets, which linger briefly for commands that were just sent."""
        self._key = 0
        self._sockets.close()

    def _frames(self, key: Any, frames: list[bytes]) -> None:
        if key != self._key:
            return
        now = self._time()
        try:
            message: tuple[c.Command, list[Envelope]] | None = self._framing.read_command(now, frames)
        except RemoteError as error:
            self._core.on_disconnected(now, key, str(error))
            return
        if message is None:
            self._core.on_piece(now, key)
        else:
            self._core.received(now, key, *message)

    def _gone(self, key: Any) -> None:
        self._core.on_disconnected(self._time(), key)

    def _failed(self, key: Any, error: Refused) -> None:
        self._core.on_failed(self._time(), key, error)
        self._turn()
