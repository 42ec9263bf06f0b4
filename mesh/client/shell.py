"""A client's connection, timers and dice, in the loop where it was opened."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any, Protocol

from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.around import Around, Cancellable, Timeout
from mesh.client.core.client import ClientCore
from mesh.client.core.desk import ClientDesk
from mesh.client.core.effects import ClientEffect, CloseConnection, DialNode, Find, Report, SendCommand
from mesh.client.events import Event, log_event
from mesh.client.oneloop import NotCopied, check_loop, not_open, running_loop
from mesh.client.wired import Wired
from mesh.errors import MeshError
from mesh.local.descriptors import of_system
from mesh.security.streamkey import StreamKey
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope


class Promised(asyncio.Future[Any]):
    """A future of which asyncio does not complain when nobody looks at its error."""

    def set_exception(self, error: type[BaseException] | BaseException, /) -> None:
        super().set_exception(error)
        self.exception()


PutCommand = Callable[[c.Command, tuple[Envelope, ...]], None]


class Carrier(Protocol):
    """A carrier of commands to the node, and tells the core what comes from there."""

    def dial(self, key: int, access: Access) -> PutCommand:
        """A new connection: what puts a command on it."""

    def look(self) -> None:
        """Take what has arrived, now."""

    def hang_up(self, key: int) -> None:
        """Nothing more of that connection, after what was put on it."""

    def close(self) -> None:
        """Likewise of all."""


Carriers = Callable[[asyncio.AbstractEventLoop, ClientCore, Callable[[], None]], Carrier]


class Shell(NotCopied):
    """The runner of a client's core. `find(home)` says where the node is; `tell` hears events;
    `carriers` makes what brings commands there. `around`: what it has in place of this machine's clocks.

    The loop keeps it, so it must not keep the client: whoever drops that has it closed.
    """

    def __init__(
        self,
        name: tuple[str, int, bool],
        key: StreamKey,
        timeout: float,
        find: Callable[[str], Access],
        tell: Callable[[Event], None],
        carriers: Carriers = Wired,
        around: Around | None = None,
    ) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None  # where it was opened
        self.wall: Callable[[], int] = time.time_ns if around is None else around.wall
        self.timeout: Callable[[float], Timeout] = asyncio.timeout if around is None else around.timeout
        self._find, self._tell, self._around = find, tell, around
        self.desk: ClientDesk = ClientDesk(self._promise, random.random, random.randbytes, self._wake)
        self.core: ClientCore = ClientCore(
            self.desk, name, key, timeout, None if around is None else around.outbox
        )
        self._carriers = carriers
        self._carrier: Carrier | None = None
        self._put: PutCommand = _nowhere
        self._key = 0  # of the connection in use
        self._is_planned = False
        self._timer: Cancellable | None = None
        self._armed = float("inf")  # for when

    @property
    def is_open(self) -> bool:
        return self._carrier is not None

    async def open(self, waits: bool) -> None:
        """Until the node has said WELCOME; raises what prevents it."""
        self.loop, self._is_planned = asyncio.get_running_loop(), False
        clock = self._around or self.loop
        self._time, self._call_at = clock.time, clock.call_at
        self._carrier = self._carriers(self.loop, self.core, self._turn)
        self.desk.now = self._time()
        await self.core.line.open(waits)

    def close(self) -> None:
        """Say goodbye and let go, now."""
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
        """The core, for one who tells it something now: Closed or WrongLoop if that cannot be."""
        if self.loop is None or self._carrier is None:
            raise not_open(self.loop)
        if self.loop is not running_loop():
            check_loop(self.loop)
        self.desk.now = self._time()
        return self.core

    def look(self) -> None:
        """Do what is to be done, and take what has arrived, without giving up the loop."""
        if self._carrier is not None:
            self._turn()
            self._carrier.look()

    def hurry(self) -> None:
        """Do what is to be done now, and not at the end of this turn."""
        if self.desk.effects:
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
        """Do what is to be done; come back when something is due."""
        if self._carrier is None or self.loop is None:
            return
        now = self._time()
        try:
            for effect in self.desk.tick(now):
                self._do_or_lose(self.loop, self._carrier, now, effect)
        finally:
            self._arm()

    def _do_or_lose(
        self, loop: asyncio.AbstractEventLoop, carrier: Carrier, now: float, effect: ClientEffect
    ) -> None:
        """What the system refuses ends the connection, and the client dials again."""
        try:
            self._do(loop, carrier, now, effect)
        except OSError as error:
            self.core.gone(now, self._key, str(of_system(error, "a connection")))
            self._plan(loop)

    def _arm(self) -> None:
        """Come back when something is due."""
        if self.desk.due < self._armed:
            if self._timer is not None:
                self._timer.cancel()
            self._armed = self.desk.due
            self._timer = self._call_at(self._armed, self._rung)

    def _do(
        self, loop: asyncio.AbstractEventLoop, carrier: Carrier, now: float, effect: ClientEffect
    ) -> None:
        match effect:
            case SendCommand(key, command, envelopes):
                if key == self._key:
                    if isinstance(command, (c.Hello, c.Ping)):
                        command = replace(command, wall=self.wall())
                    self._put(command, envelopes)
            case Report(kind, text):
                event, line = Event(kind, text), self.core.line
                self._tell(event)
                log_event(event, line.name, line.home or line.address)
            case DialNode(key, access):
                self._key, self._put = key, carrier.dial(key, access)
            case CloseConnection(key):
                self._key = 0
                carrier.hang_up(key)
            case Find():
                self._look_for_node(now)
                self._plan(loop)

    def _look_for_node(self, now: float) -> None:
        try:
            access = self._find(self.core.line.home)
        except MeshError as error:
            self.core.not_found(now, error)
        except OSError as error:
            self.core.not_found(now, of_system(error, "looking for the node"))
        else:
            self.core.found(now, access)


def _nowhere(command: c.Command, envelopes: tuple[Envelope, ...]) -> None:
    """The place for what is said where there is no connection: it is gone."""
