"""A client's connection, timers and random numbers, in the loop where the client was opened."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.around import Around, Cancellable, Timeout, awake_time
from mesh.client.core.client import ANY_NODE, ClientCore
from mesh.client.core.client_context import ClientContext
from mesh.client.core.effects import (
    Browse,
    ClientEffect,
    CloseConnection,
    DialNode,
    Find,
    Report,
    SaveNodes,
    SendCommand,
)
from mesh.client.core.fail_back import Wanted
from mesh.client.core.known_nodes import KnownNode
from mesh.client.events import Event, log_event
from mesh.client.oneloop import NotCopied, check_loop, not_open, running_loop
from mesh.client.wired import Wired
from mesh.errors import MeshError
from mesh.local.descriptors import of_system
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


class Promised(asyncio.Future[Any]):
    """A future whose error may stay unread: asyncio does not log it."""

    def set_exception(self, error: type[BaseException] | BaseException, /) -> None:
        super().set_exception(error)
        self.exception()


PutCommand = Callable[[c.Command, tuple[Envelope, ...]], None]


class Carrier(Protocol):
    """Carries commands to the node, and passes the node's commands to the core."""

    def dial(self, key: int, access: Access) -> PutCommand:
        """Open a connection, and return the function that puts a command on it."""

    def read_arrived(self) -> None:
        """Read the commands that have arrived, without waiting."""

    def hang_up(self, key: int) -> None:
        """Close a connection after the commands put on it have been sent."""

    def close(self) -> None:
        """Close all connections after the commands put on them have been sent."""


class SavedList(Protocol):
    """The saved list of nodes, and the search for others. `report(kind, text)` reports an event."""

    def browse(self, then: Callable[[list[KnownNode], str], None]) -> None:
        """Search for nodes, and call `then` in any thread with these and the reason of a failure, or ""."""

    def read(self, report: Callable[[str, str], None]) -> list[KnownNode]:
        """Return the nodes to try when the named ones do not accept the client."""

    def add(
        self,
        cluster: str,
        nodes: Sequence[KnownNode],
        has_own: bool,
        wall: int,
        report: Callable[[str, str], None],
    ) -> None:
        """Add nodes to the list; with `has_own`, the first one accepted this client, at `wall` (ns)."""


Carriers = Callable[[asyncio.AbstractEventLoop, ClientCore, Callable[[], None]], Carrier]


class Shell(NotCopied):
    """The runner of a client's core. The loop refers to the shell, so the shell must not refer to the client.

    `find(home, place)` returns a node's address and credentials, and `find(home, place, site)` those of
    another site. `tell` receives events, and `carriers` creates the carrier. `around` replaces this machine's
    clocks, and may have an outbox for the core. `wanted` has the nodes that the user named; `saved` reads and
    writes the list of nodes.
    """

    def __init__(
        self,
        name: tuple[str, int, bool],
        key: StreamKey,
        timeout: float,
        find: Callable[..., Access],
        tell: Callable[[Event], None],
        carriers: Carriers = Wired,
        around: Around | None = None,
        wanted: Wanted = ANY_NODE,
        saved: SavedList | None = None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None  # the loop in which it was opened
        self.wall: Callable[[], int] = time.time_ns if around is None else around.wall
        self.timeout: Callable[[float], Timeout] = asyncio.timeout if around is None else around.timeout
        self.steady: Callable[[], float] = awake_time if around is None else around.time
        self._find, self._tell, self._around = find, tell, around
        self._saved = saved
        self.context: ClientContext = ClientContext(
            self._promise, random.random, random.randbytes, self._wake
        )
        self.core: ClientCore = ClientCore(
            self.context, name, key, timeout, None if around is None else around.outbox, wanted
        )
        self._carriers = carriers
        self._carrier: Carrier | None = None
        self._put: PutCommand = _nowhere
        self._key = 0  # of the connection in use
        self._is_planned = False
        self._timer: Cancellable | None = None
        self._armed = float("inf")  # time of the timer

    @property
    def is_open(self) -> bool:
        return self._carrier is not None

    async def connect(self, waits: bool) -> None:
        """Connect, and wait for the node's WELCOME. Raises: the reason of a failure."""
        self.loop, self._is_planned = asyncio.get_running_loop(), False
        clock = self._around or self.loop
        self._time, self._call_at = clock.time, clock.call_at
        self._carrier = self._carriers(self.loop, self.core, self._turn)
        self.context.now = self._time()
        if self._saved is not None:
            self.core.line.choice.saved = self._saved.read(self._report)
            self.core.line.choice.can_browse = True
        await self.core.line.connect(waits)

    def close(self) -> None:
        """Send BYE and close the connection, without waiting."""
        if self._carrier is None:
            return
        self.core.line.close()
        self._turn()
        carrier, self._carrier = self._carrier, None
        self._put = _nowhere
        carrier.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._armed = None, float("inf")

    def now(self) -> ClientCore:
        """Return the core, with its clock set to the current time. Raises: Closed, WrongLoop."""
        if self.loop is None or self._carrier is None:
            raise not_open(self.loop)
        if self.loop is not running_loop():
            check_loop(self.loop)
        self.context.now = self._time()
        return self.core

    def read_arrived(self) -> None:
        """Execute pending effects and read arrived commands, without yielding to the loop."""
        if self._carrier is not None:
            self._turn()
            self._carrier.read_arrived()

    def hurry(self) -> None:
        """Execute pending effects now, instead of at the end of this turn of the event loop."""
        if self.context.effects:
            self._turn()

    # --- for the core -----------------------------------------------------------------------------------

    def _promise(self) -> Promised:
        return Promised(loop=self.loop)

    def _wake(self) -> None:
        if self.loop is None or self._carrier is None:
            raise not_open(self.loop)
        if self.loop is not running_loop():
            check_loop(self.loop)
        self._plan(self.loop)

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._is_planned:
            self._is_planned = True
            loop.call_soon(self._planned)

    def _planned(self) -> None:
        self._is_planned = False
        self._turn()

    def _rung(self) -> None:
        self._timer, self._armed = None, float("inf")
        self._turn()

    def _turn(self) -> None:
        if self._carrier is None or self.loop is None:
            return
        now = self._time()
        try:
            for effect in self.context.tick(now):
                try:
                    self._do(self.loop, self._carrier, now, effect)
                except OSError as error:
                    self._lose_connection(now, error)
        finally:
            if self.context.due < self._armed:  # the timer is too late
                if self._timer is not None:
                    self._timer.cancel()
                self._armed = self.context.due
                self._timer = self._call_at(self._armed, self._rung)

    def _lose_connection(self, now: float, error: OSError) -> None:
        self.core.on_disconnected(now, self._key, str(of_system(error, "a connection")))
        if self.loop is not None:
            self._plan(self.loop)

    def _do(
        self, loop: asyncio.AbstractEventLoop, carrier: Carrier, now: float, effect: ClientEffect
    ) -> None:
        match effect:
            case SendCommand(key, command, envelopes):
                if key == self._key:
                    if isinstance(command, (c.Hello, c.Ping)):
                        command = replace(command, wall=self.wall())
                    self._put(command, envelopes)
            case Report(kind, text, resumed):
                self._report(kind, text, resumed)
            case DialNode(key, access):
                self._key, self._put = key, carrier.dial(key, access)
            case CloseConnection(key):
                self._key = 0
                carrier.hang_up(key)
            case Find(place, site):
                self._look_for_node(now, place, site)
                self._plan(loop)
            case Browse():
                if self._saved is not None:
                    self._saved.browse(partial(self._browsed, loop))
            case SaveNodes(cluster, nodes, has_own):
                if self._saved is not None:
                    self._saved.add(cluster, nodes, has_own, self.wall(), self._report)

    def _browsed(self, loop: asyncio.AbstractEventLoop, nodes: list[KnownNode], failure: str) -> None:
        """Pass the found nodes to the core in its loop, unless that was closed. Called in any thread."""

        def take() -> None:
            if failure:
                self._report("mdns", f"the search for nodes by multicast DNS failed: {failure}")
            if self._carrier is not None:
                self.core.on_browsed(self._time(), nodes)
                self._turn()

        with suppress(RuntimeError):
            loop.call_soon_threadsafe(take)

    def _report(self, kind: str, text: str, resumed: bool | None = None) -> None:
        event, line = Event(kind, text, resumed), self.core.line
        self._tell(event)
        log_event(event, line.name, line.home or line.address)

    def _look_for_node(self, now: float, place: str, site: str) -> None:
        try:
            home = self.core.line.home
            access = self._find(home, place, site) if site else self._find(home, place)
        except MeshError as error:
            self.core.not_found(now, error)
        except OSError as error:
            self.core.not_found(now, of_system(error, "looking for the node"))
        else:
            self.core.found(now, access)


def _nowhere(command: c.Command, envelopes: tuple[Envelope, ...]) -> None:
    """Drop a command while there is no connection."""
