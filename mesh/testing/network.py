"""Connections in memory, which deliver in order, after everything already in transit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from mesh.testing.clock import Clock

PATIENCE = 6.0  # s after which a cut connection is lost
MOST = 1000  # deliveries per turn of the loop


class End(Protocol):
    """A node's or client's end of connections. `turn` is called after messages that arrived together."""

    name: str

    def hear(self, pipe: Pipe, frames: list[bytes]) -> None: ...
    def on_closed(self, pipe: Pipe) -> None: ...
    def turn(self) -> None: ...


class Pipe:
    """A connection between two ends; side 0 dialed."""

    def __init__(self, net: Network, dialler: End, listener: End, address: str) -> None:
        self.ends = (dialler, listener)
        self.address = address
        self.is_open = True
        self._net = net
        self._lines: tuple[deque[list[bytes] | None], ...] = (deque(), deque())

    @property
    def is_cut(self) -> bool:
        return not self._net.passes(self.ends[0].name, self.ends[1].name)

    def send(self, sender: End, frames: list[bytes]) -> None:
        self._put_frames(sender, frames)

    def close_end(self, who: End) -> None:
        """Close the connection from one end. Messages that this end sent before still arrive."""
        self._put_frames(who, None)

    def _put_frames(self, sender: End, frames: list[bytes] | None) -> None:
        side = self.ends.index(sender)
        self._lines[side].append(frames)
        self._net.soon(partial(self._arrive, side))

    def _arrive(self, side: int) -> None:
        """Deliver the first message that `side` sent, unless the connection is cut."""
        line = self._lines[side]
        if not self.is_open or self.is_cut or not line:
            return
        frames, receiver = line.popleft(), self.ends[1 - side]
        if frames is None:
            self.lose()
        else:
            receiver.hear(self, frames)
            self._net.stir(receiver)

    def heal(self) -> None:
        for side in (0, 1):
            for _ in self._lines[side]:
                self._net.soon(partial(self._arrive, side))

    def lose(self) -> None:
        """Break the connection and drop its messages; both ends are notified."""
        if self.is_open:
            self.is_open = False
            for end in self.ends:
                self._net.soon(partial(self._notify_end, end))

    def lose_if_cut(self) -> None:
        if self.is_cut:
            self.lose()

    def _notify_end(self, end: End) -> None:
        end.on_closed(self)
        self._net.stir(end)


class Network:
    """The connections of a mesh, and the messages in transit."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.bound: dict[str, End] = {}  # by address
        self.pipes: dict[Pipe, None] = {}  # open connections
        self.is_touched = False  # a client has sent or received
        self._cuts: set[frozenset[str]] = set()
        self._line: deque[Callable[[], None]] = deque()
        self._stirred: dict[End, None] = {}  # ends that wait for their turn
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_planned = self._is_delivering = False

    def dial(self, dialler: End, address: str) -> Pipe:
        """Open a connection, which is lost immediately if nothing listens at the address."""
        listener = self.bound.get(address)
        pipe = Pipe(self, dialler, listener or dialler, address)
        if listener is None:
            pipe.is_open = False
            self.soon(partial(pipe._notify_end, dialler))
            return pipe
        self.pipes = {each: None for each in self.pipes if each.is_open}
        self.pipes[pipe] = None
        if pipe.is_cut:
            self._watch(pipe)
        return pipe

    # --- cuts ---------------------------------------------------------------------------------------------

    def passes(self, one: str, other: str) -> bool:
        return frozenset((one, other)) not in self._cuts

    def cut(self, one: str, other: str) -> None:
        self._cuts.add(frozenset((one, other)))
        for pipe in self.pipes:
            if pipe.is_cut:
                self._watch(pipe)

    def heal(self) -> None:
        self._cuts.clear()
        for pipe in self.pipes:
            pipe.heal()

    def _watch(self, pipe: Pipe) -> None:
        self.clock.call_at(self.clock.time() + PATIENCE, pipe.lose_if_cut)

    # --- turns --------------------------------------------------------------------------------------------

    def use_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver messages in turns of `loop`, until another loop is set."""
        self._loop, self._is_planned = loop, False
        self._plan()

    def soon(self, what: Callable[[], None]) -> None:
        """Call `what` after everything that is in transit."""
        self._line.append(what)
        self._plan()

    def stir(self, end: End) -> None:
        """Call the end's `turn` after everything that is in transit."""
        self._stirred[end] = None
        self._plan()

    def deliver(self, most: int = MOST) -> None:
        """Deliver the messages in transit, and their consequences, in at most `most` steps."""
        if self._is_delivering:
            return
        self._is_delivering = True
        try:
            for _ in range(most):
                if self._line:
                    self._line.popleft()()
                elif self._stirred:
                    end = next(iter(self._stirred))
                    del self._stirred[end]
                    end.turn()
                else:
                    break
        finally:
            self._is_delivering = False
            self._plan()

    def deliver_all(self) -> None:
        while self._line or self._stirred:
            self.deliver()

    def _plan(self) -> None:
        is_needed = (self._line or self._stirred) and not (self._is_planned or self._is_delivering)
        if is_needed and self._loop is not None and not self._loop.is_closed():
            self._is_planned = True
            self._loop.call_soon(self._planned)

    def _planned(self) -> None:
        self._is_planned = False
        self.deliver()
