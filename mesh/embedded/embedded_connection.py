"""A connection between a program and the node in its process: it passes commands in and frames out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mesh.embedded.thread_channel import ThreadChannel
from mesh.shell.driver import Driver
from mesh.shell.program import Program
from mesh.wire.commands import Command
from mesh.wire.envelope import Envelope

VisitSaid = tuple[Command, tuple[Envelope, ...]]
VisitHeard = Callable[[Sequence[list[bytes]], bool], None]


class EmbeddedConnection:
    """A connection of two queues. Comments between the methods name the thread that may call them.

    `hear(messages, is_last)` receives the node's messages, as frames, in the program's loop.
    """

    def __init__(
        self,
        driver: Driver,
        its: asyncio.AbstractEventLoop,
        ours: asyncio.AbstractEventLoop,
        hear: VisitHeard,
    ) -> None:
        self._driver, self._its = driver, its
        self._to_node: ThreadChannel[VisitSaid] = ThreadChannel(its, self._on_commands)
        self._to_program: ThreadChannel[list[bytes]] = ThreadChannel(ours, hear)
        self._program = Program(self._put_frames, self._to_program.end_stream)
        self._has_come = False

    # --- in the thread of the program ---------------------------------------------------------------------

    def send_command(self, command: Command, envelopes: tuple[Envelope, ...]) -> bool:
        return self._to_node.put_item((command, envelopes))

    def read_arrived(self) -> None:
        self._to_program.read_arrived()

    def leave(self) -> None:
        self._to_program.stop()
        self._to_node.end_stream()

    # --- in the thread of the node ------------------------------------------------------------------------

    def _on_commands(self, said: Sequence[VisitSaid], is_over: bool) -> None:
        driver, program = self._driver, self._program
        if not self._has_come:
            self._has_come = True
            driver.came_within(program)
        for command, envelopes in said:
            driver.on_command(program, command, envelopes)
        if is_over:
            driver.on_disconnected(program)
        driver.settle()

    def _put_frames(self, frames: list[bytes]) -> None:
        if not self._to_program.put_item(frames):
            # The queue is full, so the connection is lost, as with a full socket, and a new one will resume.
            # This happens in the loop's next turn, because the core is executing its effects now.
            self._its.call_soon(self._lose)

    def _lose(self) -> None:
        self._to_node.stop()
        self._to_program.end_stream()
        self._driver.on_disconnected(self._program)
        self._driver.idle()
