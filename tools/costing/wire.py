"""A substitute for a client's sockets: a node that answers greetings and keeps published envelopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from mesh.wire.limits import PIECES, SERVICES, VERSION_MAX

MASTER = b"m" * 16
WELCOME = c.Welcome(
    VERSION_MAX,
    c.Introduction(MASTER, "heron", 1, ""),
    "",
    session="/node/heron/client/joe/session/1",
    token=b"t",
    max_content=1 << 20,
    window=(4 << 20, 1024),
    speaks=(PIECES, SERVICES),
)


class Wire:
    """A substitute for the client's sockets, which also answers subscriptions.

    `made` is the last instance.
    """

    made: Wire

    def __init__(
        self,
        loop: Any,
        came: Any,
        received: Callable[[Any, list[bytes]], None],
        gone: Any,
        idle: Callable[[], None],
        **more: Any,
    ) -> None:
        Wire.made = self
        self.hear, self.idle = received, idle
        self.published: list[Envelope] = []
        self._loop = loop

    def dial(self, key: Any, address: str, curve: Any) -> None:
        """Do nothing: the connection exists already."""

    def send(self, key: Any, frames: list[bytes]) -> None:
        command, envelopes = read(frames)
        self.published += envelopes
        match command:
            case c.Hello():
                self._answer(key, WELCOME)
            case c.Subscribe():
                self._answer(key, c.Reply(command.request, {}))

    def _answer(self, key: Any, command: c.Command) -> None:
        self._loop.call_soon(self._say, key, write(command))

    def _say(self, key: Any, frames: list[bytes]) -> None:
        self.hear(key, frames)
        self.idle()

    def hang_up(self, key: Any) -> None: ...

    def read_arrived(self, key: Any) -> None:
        """Do nothing: there is no further input."""

    def close(self) -> None: ...
