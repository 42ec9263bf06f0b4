"""What carries a client's commands to the node in its own process? Two deques, and no socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from mesh.client.access import Access
from mesh.client.core.client import ClientCore
from mesh.embedded.nodethread import NodeThread, told
from mesh.embedded.visit import Visit
from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read

DEAF = "its node takes nothing"


class Inward:
    """The carrier of a client that has a node of its own; the node lives no longer than this is open."""

    def __init__(
        self, node: NodeThread, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]
    ) -> None:
        self._node, self._loop, self._core, self._turn = node, loop, core, turn
        self._key = 0
        self._visit: Visit | None = None
        self._is_closed = False
        told(node.ended, loop, self._over)

    def dial(self, key: int, access: Access) -> Callable[[c.Command, tuple[Envelope, ...]], None]:
        """A new connection: what puts a command on it."""
        driver, hear = self._node.began.result().driver, partial(self._heard, key)
        self._key, self._visit = key, Visit(driver, self._node.loop, self._loop, hear)
        return partial(self._say, key, self._visit)

    def look(self) -> None:
        """Take what has come, now."""
        if self._visit is not None:
            self._visit.look()

    def hang_up(self, key: int) -> None:
        """After what was put on it."""
        if self._visit is not None:
            self._visit.leave()
            self._key, self._visit = 0, None

    def close(self) -> None:
        """Hang up, and let the node go."""
        self._is_closed = True
        self.hang_up(self._key)
        self._node.stop()

    def _say(self, key: int, visit: Visit, command: c.Command, envelopes: tuple[Envelope, ...]) -> None:
        if not visit.say(command, envelopes):
            self._loop.call_soon(self._lost, key)

    def _heard(self, key: int, messages: Sequence[list[bytes]], is_over: bool) -> None:
        core, now = self._core, self._loop.time()
        for frames in messages:
            if key != self._key:
                return
            try:
                command, envelopes = read(frames)
            except RemoteError as error:
                core.gone(now, key, str(error))
                break
            core.received(now, key, command, envelopes)
        if is_over:
            core.gone(now, key)
        self._turn()

    def _lost(self, key: int) -> None:
        self._core.gone(self._loop.time(), key, DEAF)
        self._turn()

    def _over(self) -> None:
        """The node has ended: so has its client, for the same reason."""
        if not self._is_closed:
            self._core.close(self._node.why)
            self._turn()
