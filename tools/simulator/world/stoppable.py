"""A node whose process is paused and resumed; input that arrives meanwhile waits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from mesh.wire.calls import Ask
from tools.simulator.world.network import Pipe
from tools.simulator.world.node import SimNode

LATE = 0.25  # s after which a late loop reads first


class StoppableNode(SimNode):
    """A node that can be paused.

    `stalled` has the calls that wait until it resumes.
    """

    def __init__(self, *arguments: Any) -> None:
        self.stalled: list[Callable[[], None]] = []
        self._stopped_until = 0.0
        self._tick_waits = False
        super().__init__(*arguments)

    def start(self) -> None:
        self.stalled, self._tick_waits, self._stopped_until = [], False, 0.0
        super().start()

    @property
    def is_stopped(self) -> bool:
        return self.net.now < self._stopped_until

    def pause(self, seconds: float) -> None:
        """Pause the process for `seconds`, as SIGSTOP and SIGCONT do."""
        if self.is_up and not self.is_stopped:
            self._stopped_until = self.net.now + seconds
            boot = self.disk.boot
            self.net.at(self._stopped_until, lambda: self.go_on(boot))

    def go_on(self, boot: int) -> None:
        """Resume, and read the waiting input before the node judges any peer."""
        if not self.is_up or boot != self.disk.boot:
            return
        self._stopped_until = 0.0
        due = self._alarm  # reading sets it anew
        stalled, self.stalled = self.stalled, []
        for what in stalled:
            what()
        self._tick_on(due)

    def _tick_on(self, due: float) -> None:
        if self.is_up and self._tick_waits:
            self._tick_waits = False
            self._alarm = min(self._alarm, self.now)
            late = self.now - due
            if late > LATE:
                self.core.lagged(late, self.now)
            super()._tick(self._life)

    def awake(self, what: Callable[[], None]) -> None:
        """Call `what` as soon as the process runs."""
        if self.is_stopped:
            self.stalled.append(what)
        else:
            what()

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None:
        self.awake(lambda: SimNode.heard_on(self, pipe, frames))

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        self.awake(lambda: SimNode.hear(self, key, frames))

    def on_closed(self, key: Hashable) -> None:
        self.awake(lambda: SimNode.on_closed(self, key))

    def left(self, life: int, key: Hashable) -> None:
        self.awake(lambda: SimNode.left(self, life, key))

    def gossiped(self, frames: list[bytes]) -> None:
        self.awake(lambda: SimNode.gossiped(self, frames))

    def knocked(self, life: int, uuid: bytes, is_refused: bool) -> None:
        self.awake(lambda: SimNode.knocked(self, life, uuid, is_refused))

    def asks(self, ask: Ask, then: Callable[[Any], None]) -> None:
        """Ask the core a question as the node's own shell does."""

        def asked() -> None:
            if self.is_up:
                self.core.answer_process(ask, then, self.now, self.wall)
                self._carry_out_all()

        self.awake(asked)

    def advertised(self, node: Any) -> None:
        """Handle an advert of a node by multicast DNS."""

        def hears() -> None:
            if self.is_up:
                self.core.advertised(node, self.now, self.wall)
                self._carry_out_all()

        if self.is_up:
            self.awake(hears)

    def _tick(self, life: int) -> None:
        if self.is_stopped and life == self._life and self.is_up:
            self._tick_waits = True
        else:
            super()._tick(life)
