"""What a core sees of the world, and what of it is done: sockets, disk, clock, and nothing decided."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Hashable
from typing import Any

from mesh.core.desk.effects import (
    Commit,
    Dial,
    Effect,
    Gossip,
    HangUp,
    Knock,
    Listen,
    Note,
    Proven,
    Record,
    Send,
    Stop,
)
from mesh.core.node import NodeCore
from mesh.errors import Refused, StoreError, StoreFull
from mesh.local.segments import SegmentLog
from mesh.shell.crashpoints import Send as Put
from mesh.shell.damper import Damper
from mesh.shell.knocking import is_refused
from mesh.shell.lag import Lag
from mesh.shell.resolving import is_ip, resolved
from mesh.store.base import NodeStore
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from mesh.wire.commands import Introduction

log = logging.getLogger("mesh.node")
AGAIN = (0.0, 0.1, 0.4)  # s between knocks: a process that is dying may listen a moment longer
DAMPED = ("refused", "advert")  # kinds of which strangers could have us tell as many as they like
LATE = 0.25  # s: a loop that comes so late to its work has been stopped or starved


class World:
    """The loop's side of a core: it tells the core what happens, and carries out what follows."""

    core: NodeCore  # these six are made at start
    _sockets: Sockets
    _store: NodeStore
    _put: Put  # on a connection of theirs
    _worker: StoreWorker
    _snapshots: SegmentLog

    def __init__(self) -> None:
        self._lag = Lag()
        self._damper = Damper()
        self._stopping: asyncio.Event | None = None
        self._stop = Stop()
        self._has_failed = False  # the store
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._idle_planned = False
        self._commit_ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._named: dict[Hashable, list[list[bytes]]] = {}  # dialled by name, with what is to be sent

    def stop(self) -> None:
        """Leave `run`."""
        if self._stopping is not None:
            self._stopping.set()

    def _clock(self) -> tuple[float, int]:
        return time.monotonic(), time.time_ns()

    def _came(self, key: Hashable, endpoint: str, trusted: bool, user: str) -> None:
        self.core.accept(key, endpoint, trusted, user)

    def _received(self, key: Hashable, frames: list[bytes]) -> None:
        self.core.receive(key, frames, *self._clock())

    def _gone(self, key: Hashable) -> None:
        self.core.disconnected(key, *self._clock())

    def _heard(self, frames: list[bytes]) -> None:
        self.core.gossiped(frames, *self._clock())

    def _failed(self, key: Hashable, error: Refused) -> None:
        if not self.core.failed(key, error.what, error.hint, *self._clock()):
            self._stranger(error.what)

    def _stranger(self, text: str) -> None:
        self.tell("refused", text, "warning")

    def advertised(self, node: Introduction) -> None:
        """Multicast DNS tells of another node."""
        self.core.advertised(node, *self._clock())
        self._idle()

    def near(self, name: str, address: str) -> None:
        """Multicast DNS tells of another mesh."""
        self.core.near(name, address, *self._clock())
        self._idle()

    def readdressed(self, there: tuple[str, ...]) -> None:
        """This machine has other addresses now."""
        self.core.readdressed(there[0], there[1:], *self._clock())
        self._idle()

    def tell(self, kind: str, text: str, level: str = "info") -> None:
        """Something happened here that people may want to read about."""
        if kind == "advert":
            self.core.desk.count("adverts_rejected")
        if kind in DAMPED and not self._damper.is_news(kind, text, time.monotonic()):
            return
        self.core.tell(kind, text, *self._clock(), level)
        self._idle()

    def _left(self) -> None:
        self.core.left(*self._clock())
        self._idle()

    def _dial(self, conn: Hashable, address: str) -> None:
        if is_ip(address):
            self._sockets.dial(conn, address)
        else:
            self._named[conn] = []
            self._later(self._dial_by_name(conn, address))

    async def _dial_by_name(self, conn: Hashable, address: str) -> None:
        found = await resolved(address)
        if conn not in self._named:
            return  # nobody wants it any more
        waiting = self._named.pop(conn)
        if found is None:
            host = address.removeprefix("tcp://").rpartition(":")[0]
            self.core.failed(conn, f"nobody knows the host {host}", "", *self._clock())
            self._gone(conn)
        else:
            self._sockets.dial(conn, found)
            for frames in waiting:
                self._sockets.send(conn, frames)
        self._idle()

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _knock(self, uuid: bytes, address: str) -> None:
        for pause in AGAIN:
            await asyncio.sleep(pause)
            if await is_refused(address):
                self.core.knocked(uuid, True, *self._clock())
                self._idle()
                return
        self.core.knocked(uuid, False, *self._clock())
        self._idle()

    def _committed(
        self, loop: asyncio.AbstractEventLoop, tokens: list[Hashable], error: StoreError | None
    ) -> None:
        loop.call_soon_threadsafe(self._stored, tokens, error)

    def _stored(self, tokens: list[Hashable], error: StoreError | None) -> None:
        fatal = None if isinstance(error, StoreFull) else error
        if fatal is not None:
            # What a broken disk still says cannot be trusted: stop, and start again from what it holds.
            # Nobody knows what a failed commit has written, also of one who is fenced off: an earlier try
            # may have been carried out, and only the answer lost. So whoever waits for an answer gets none
            # here, and the next process recognises what is there.
            self._has_failed = True
            self._give_up(Stop(f"{fatal.what} {fatal.hint}".strip(), fatal.code))
        else:
            for token in tokens:
                if isinstance(token, int):
                    self.core.stored(token, error, *self._clock())
        self._commit_ended.set()
        self._idle()

    def _give_up(self, stop: Stop) -> None:
        self._stop = stop
        self.stop()

    def _tick(self) -> None:
        self._timer = None
        now = time.monotonic()
        late = now - self._due
        self._lag.note(late, now)
        if late > LATE:
            # What came in meanwhile is heard before anybody is called silent, and nobody's time ran out.
            self.core.lagged(late)
            asyncio.get_running_loop().call_soon(self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self.core.tick(*self._clock())
        for kind, text in self._damper.over(time.monotonic()):
            self.core.tell(kind, text, *self._clock(), "warning")
        self._idle()

    def _idle(self) -> None:
        """Carry out what the core wants, once for all that this turn of the loop brings."""
        if not self._idle_planned:
            self._idle_planned = True
            asyncio.get_running_loop().call_soon(self._idle_now)

    def _idle_now(self) -> None:
        self._idle_planned = False
        for effect in self.core.take_effects():
            self._carry_out(effect)
        if self._timer is None or self.core.alarm < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = max(self.core.alarm, time.monotonic())
            self._timer = asyncio.get_running_loop().call_at(self._due, self._tick)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Send(conn, frames):
                if conn in self._named:
                    self._named[conn].append(frames)
                else:
                    self._put(conn, frames)
            case Commit(token, ops):
                self._worker.submit(token, ops)
            case Dial(conn, address):
                self._dial(conn, address)
            case HangUp(conn):
                self._named.pop(conn, None)
                self._sockets.hang_up(conn)
            case Gossip(frames):
                self._sockets.publish(frames)
            case Listen(address, wanted):
                (self._sockets.listen if wanted else self._sockets.unlisten)(address)
            case Knock(uuid, address):
                self._later(self._knock(uuid, address))
            case Proven(conn, user, is_node):
                self._sockets.proven(conn, user, is_node)
            case Record(line):
                self._snapshots.record(line)
            case Note(level, text):
                log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)
            case Stop():
                self._give_up(effect)
