"""Carries a client's commands to the node in the same process, through two queues and without sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from mesh.client.access import Access
from mesh.client.core.client import ClientCore
from mesh.embedded.embedded_connection import EmbeddedConnection
from mesh.embedded.nodethread import NodeThread, told
from mesh.errors import RemoteError
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read

DEAF = "its node accepts no more commands"


class Inward:
    """The carrier between a client and the node in its process. Closing the carrier stops the node."""

    def __init__(
        self, node: NodeThread, loop: asyncio.AbstractEventLoop, core: ClientCore, turn: Callable[[], None]
    ) -> None:
        self._node, self._loop, self._core, self._turn = node, loop, core, turn
        self._key = 0
        self._visit: EmbeddedConnection | None = None
        self._is_closed = False
        told(node.ended, loop, self._over)

    def dial(self, key: int, access: Access) -> Callable[[c.Command, tuple[Envelope, ...]], None]:
        driver, hear = self._node.began.result().driver, partial(self._on_frames, key)
        self._key, self._visit = key, EmbeddedConnection(driver, self._node.loop, self._loop, hear)
        return partial(self._pass_command, key, self._visit)

    def read_arrived(self) -> None:
        if self._visit is not None:
            self._visit.read_arrived()

    def hang_up(self, key: int) -> None:
        if self._visit is not None:
            self._visit.leave()
            self._key, self._visit = 0, None

    def close(self) -> None:
        self._is_closed = True
        self.hang_up(self._key)
        self._node.stop()

    def _pass_command(
        self, key: int, visit: EmbeddedConnection, command: c.Command, envelopes: tuple[Envelope, ...]
    ) -> None:
        if not visit.send_command(command, envelopes):
            self._loop.call_soon(self._end_connection, key)

    def _on_frames(self, key: int, messages: Sequence[list[bytes]], is_over: bool) -> None:
        core, now = self._core, self._loop.time()
        for frames in messages:
            if key != self._key:
                return
            try:
                command, envelopes = read(frames)
            except RemoteError as error:
                core.on_disconnected(now, key, str(error))
                break
            core.received(now, key, command, envelopes)
        if is_over:
            core.on_disconnected(now, key)
        self._turn()

    def _end_connection(self, key: int) -> None:
        self._core.on_disconnected(self._loop.time(), key, DEAF)
        self._turn()

    def _over(self) -> None:
        if not self._is_closed:
            self._core.close(self._node.why)
            self._turn()
