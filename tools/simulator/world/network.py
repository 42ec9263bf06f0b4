"""The in-memory network: time is a heap, random numbers have a seed, and only wire bytes pass.

Connections are first in, first out, like TCP. A broken connection loses the frames in flight, and only its
dialer is notified; the listener notices when it sends, as with a ROUTER socket.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any, Generic, Protocol, TypeVar

from mesh.wire.frames import read

SECRET = b"the user's cookie"
SPEED = (0.0002, 0.002)  # s in transit
DISK = (0.001, 0.01)  # s per commit
PATIENCE = 6.0  # s after which a cut connection is lost
BUSY = 50_000  # events in 0.1 s: an endless loop
LATE = 1e-6  # s by which a timer is late


class End(Protocol):
    """An end of connections, which it knows by keys of its own."""

    name: str

    def hear(self, key: Hashable, frames: list[bytes]) -> None: ...

    def on_closed(self, key: Hashable) -> None: ...


class Listener(End, Protocol):
    """An end that accepts connections.

    `came_in` has them by the keys of this end.
    """

    @property
    def came_in(self) -> dict[Hashable, Pipe]: ...

    def heard_on(self, pipe: Pipe, frames: list[bytes]) -> None: ...


class Pipe:
    """A connection of two ends.

    Direction 0 is from the dialer.
    """

    def __init__(
        self, net: Network[Any], dialler: End, key: Hashable, listener: Listener, endpoint: str, number: int
    ) -> None:
        self.net = net
        self.ends: tuple[End, Listener] = (dialler, listener)
        self.keys: tuple[Hashable, Hashable] = (key, ("in", number))
        self.number = number
        self.endpoint = endpoint
        self.is_open = True
        self.held: list[tuple[int, list[bytes]]] = []  # frames while the wire is cut
        self._last = [0.0, 0.0]

    @property
    def is_cut(self) -> bool:
        return frozenset(end.name for end in self.ends) in self.net.cuts

    def send(self, direction: int, frames: list[bytes]) -> None:
        if self.is_cut:
            self.held.append((direction, frames))
            return
        self._last[direction] = max(self._last[direction], self.net.now + self.net.rng.uniform(*SPEED))
        self.net.at(self._last[direction], lambda: self._arrive(direction, frames))

    def _arrive(self, direction: int, frames: list[bytes]) -> None:
        if self.is_cut:
            self.held.append((direction, frames))
        elif self.is_open:
            self._deliver(direction, frames)

    def _deliver(self, direction: int, frames: list[bytes]) -> None:
        self.net.trace(self, direction, frames)
        if direction == 0:
            self.ends[1].heard_on(self, frames)
        else:
            self.ends[0].hear(self.keys[0], frames)

    def heal(self) -> None:
        held, self.held = self.held, []
        for direction, frames in held:
            self.send(direction, frames)

    def end(self, who: End) -> None:
        """Close the end of `who`: its frames in flight still arrive, and then the connection breaks."""
        self.net.at(self._last[self.ends.index(who)], self.lose)

    def lose(self) -> None:
        """Break the connection: frames in flight are lost, and the dialer is notified."""
        if self.is_open:
            self.is_open = False
            self.net.after(0.001, lambda: self.ends[0].on_closed(self.keys[0]))


N = TypeVar("N")


class Network(Generic[N]):
    """The simulated time, random numbers, and connections of all nodes."""

    pipe_made: type[Pipe] = Pipe

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.rng = Random(seed)
        self.nodes: dict[str, N] = {}
        self.bound: dict[str, Listener] = {}  # by address
        self.pipes: list[Pipe] = []  # open connections, and some closed ones
        self._pipes_kept = 64
        self.cuts: set[frozenset[str]] = set()
        self.disk = DISK
        self.places: dict[tuple[bytes, str, int, str], tuple[bytes, int]] = {}  # message -> its place
        self.seen: list[tuple[str, str, str]] = []  # (from, to, command), when `is_watched`
        self.is_watched = False
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._numbers = count(1)
        self._in_a_moment = 0

    @property
    def wall(self) -> int:
        return 1_700_000_000_000_000_000 + int(self.now * 1e9)

    def at(self, when: float, what: Callable[[], None]) -> None:
        heappush(self._events, (max(when, self.now), next(self._order), what))

    def after(self, seconds: float, what: Callable[[], None]) -> None:
        self.at(self.now + seconds, what)

    def run(self, seconds: float) -> None:
        """Run all events of the next `seconds`."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self._step()
        self.now = end

    def until(self, condition: Callable[[], Any], limit: float = 60.0) -> None:
        """Run until the condition holds.

        Raises AssertionError if the condition does not hold within `limit` seconds.
        """
        end = self.now + limit
        while not condition():
            assert self._events and self._events[0][0] <= end, f"not within {limit} s of simulated time"
            self._step()

    def _step(self) -> None:
        when, _, what = heappop(self._events)
        self._in_a_moment = 0 if int(10 * when) > int(10 * self.now) else self._in_a_moment + 1
        most = BUSY + len(self.bound) ** 2
        assert self._in_a_moment < most, "time stands still: somebody goes round in circles"
        self.now = when
        what()

    def connect(self, dialler: End, key: Hashable, address: str) -> Pipe | None:
        """Return a connection, or None if no end listens at `address`; the dialer is notified then."""
        listener = self.bound.get(address)
        if listener is None:
            self.after(self.delay(dialler.name, address), lambda: dialler.on_closed(key))
            return None
        pipe = self.pipe_made(self, dialler, key, listener, address, next(self._numbers))
        self.keep(pipe)
        listener.came_in[pipe.keys[1]] = pipe
        return pipe

    def keep(self, pipe: Pipe) -> None:
        """Add an open connection, and drop closed ones now and then."""
        if len(self.pipes) > self._pipes_kept:
            self.pipes = [p for p in self.pipes if p.is_open]
            self._pipes_kept = 2 * len(self.pipes) + 64
        self.pipes.append(pipe)

    def passes(self, sender: str, receiver: str) -> bool:
        return frozenset((sender, receiver)) not in self.cuts

    def chance(self, what: str) -> Random:
        """Return the random generator for `what`, here one for all."""
        return self.rng

    def delay(self, sender: str, receiver: str) -> float:
        """Return the seconds that a small message is in transit, drawn at random."""
        return self.rng.uniform(*SPEED)

    def break_all(self, *names: str) -> None:
        """Break every connection between two named ends, or all connections of a single one."""
        for pipe in list(self.pipes):
            if set(names) <= {end.name for end in pipe.ends}:
                pipe.lose()

    def cut(self, one: str, other: str) -> None:
        """Cut the wire between two ends.

        A connection that is still cut after PATIENCE seconds breaks.
        """
        pair = frozenset((one, other))
        self.cuts.add(pair)
        for pipe in [p for p in self.pipes if p.is_open and p.is_cut]:
            self.after(PATIENCE, lambda pipe=pipe: pipe.is_cut and pipe.lose())  # type: ignore[misc]

    def heal(self) -> None:
        self.cuts.clear()
        for pipe in self.pipes:
            pipe.heal()

    def trace(self, pipe: Pipe, direction: int, frames: list[bytes]) -> None:
        if self.is_watched:
            command, _ = read(frames)
            self.seen.append(
                (pipe.ends[direction].name, pipe.ends[1 - direction].name, type(command).__name__)
            )
