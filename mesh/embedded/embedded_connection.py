"""A connection between a program and the node in its process: commands go in, frames come out."""

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
    """A connection of two queues. Each method belongs to the thread named above it.

    `hear(frames, is_last)` gets the node's messages in the program's loop.
    """

    def __init__(
        self,
        driver: Driver,
        its: asyncio.AbstractEventLoop,
        ours: asyncio.AbstractEventLoop,
        hear: VisitHeard,
    ) -> None:
        self._driver, self._its = driver, its
        self._to_node: ThreadChannel[VisitSaid] = ThreadChannel(its, self._told)
        self._to_program: ThreadChannel[list[bytes]] = ThreadChannel(ours, hear)
        self._program = Program(self._put, self._to_program.end)
        self._has_come = False

    # --- in the thread of the program ---------------------------------------------------------------------

    def say(self, command: Command, envelopes: tuple[Envelope, ...]) -> bool:
        """Send a command; return False if the node's queue is full."""
        return self._to_node.put((command, envelopes))

    def look(self) -> None:
        self._to_program.look()

    def leave(self) -> None:
        """Close the connection after the commands put on it have arrived."""
        self._to_program.stop()
        self._to_node.end()

    # --- in the thread of the node ------------------------------------------------------------------------

    def _told(self, said: Sequence[VisitSaid], is_over: bool) -> None:
        driver, program = self._driver, self._program
        if not self._has_come:
            self._has_come = True
            driver.came_within(program)
        for command, envelopes in said:
            driver.told(program, command, envelopes)
        if is_over:
            driver.gone(program)
        driver.settle()

    def _put(self, frames: list[bytes]) -> None:
        if not self._to_program.put(frames):
            # The connection is lost, as a full socket's would be, and a new one will resume. This happens in
            # the next turn, because the core is executing its effects now.
            self._its.call_soon(self._lose)

    def _lose(self) -> None:
        self._to_node.stop()
        self._to_program.end()
        self._driver.gone(self._program)
        self._driver.idle()
