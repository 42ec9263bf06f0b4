"""The process of a node: it owns sockets, store, clock and chance, and decides nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Coroutine, Hashable, Mapping
from pathlib import Path
from typing import Any

from discovery.adverts import Adverts
from mesh.config import Config, addresses
from mesh.core.effects import (
    Commit,
    Dial,
    Effect,
    Gossip,
    HangUp,
    Knock,
    Listen,
    Note,
    Proven,
    Send,
    Stop,
)
from mesh.core.node import NodeCore
from mesh.errors import BindRefused, MeshError, MeshTimeout, StoreError, StoreFull
from mesh.local.addresses import normal
from mesh.local.localnodes import NodeFile, pick_name
from mesh.local.private import cookie, socket_path, state_dir
from mesh.security.keyring import MeshKeys, keyring
from mesh.security.signing import verify
from mesh.shell.binding import bind_all
from mesh.shell.damper import Damper
from mesh.shell.finding import Finding
from mesh.shell.finding import addresses as places
from mesh.shell.knocking import is_refused
from mesh.shell.lag import Lag
from mesh.shell.memory import give_back, take_descriptors
from mesh.shell.probe import FileProbe, MachineProbe
from mesh.shell.resolving import is_ip, resolved
from mesh.shell.settings import settings_of
from mesh.store.sqlite import SQLiteStore
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from mesh.wire.commands import Introduction

log = logging.getLogger("mesh.node")
SETTLED = 1.0  # s after its start that a node needs no more memory than later
DRAIN = 10.0  # s that a clean stop may take
AGAIN = (0.0, 0.1, 0.4)  # s between knocks: a process that is dying may listen a moment longer
DAMPED = ("refused", "advert")  # kinds of which strangers could have us tell as many as they like
LATE = 0.25  # s: a loop that comes so late to its work has been stopped or starved


class Node:
    """One running node. `start`, then `run` until it is told to stop, then `close`."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._config = config
        self._state = state_dir(environ)
        self._lag = Lag()
        self._damper = Damper()
        self._stopping: asyncio.Event | None = None
        self._stop = Stop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._started = time.monotonic()
        self._idle_planned = False
        self._commit_ended = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._named: dict[
            Hashable, list[list[bytes]]
        ] = {}  # dialled by name: what to send once that is known
        self._open: list[Callable[[], None]] = []  # how to undo what start has done, in reverse

    async def start(self) -> None:
        """Take the data directory, load the store, bind, and be there for clients and other nodes."""
        try:
            self._start()
        except BaseException:
            self._undo()
            raise

    def _start(self) -> None:
        take_descriptors()
        node, loop = self._config.node, asyncio.get_running_loop()
        probe = FileProbe(Path(node.probe)) if node.probe else MachineProbe()
        data = Path(node.data).expanduser() if node.data else None
        self.name, self._data = pick_name(self._state, node.id, socket.gethostname(), data)
        self._open.append(self._data.close)
        self._keys = self._read_keys()
        store = SQLiteStore(self._data.store_path)
        image = store.load()
        self._stopping = asyncio.Event()
        self._worker = StoreWorker(store, lambda tokens, error: self._committed(loop, tokens, error))
        self._open.append(lambda: self._worker.close(DRAIN))
        self._bind(loop)
        me = self._introduction()
        ring = self._keys.ring if self._keys else None
        secret = ring.secrets["node"] if ring else cookie(self._state)
        self.core = NodeCore(
            settings_of(self._config, me, self._seeds(), secret, ring, random.random),
            os.urandom,
            random.random,
        )
        self.core.start(
            image, *self._clock(), self._shell_status,
            lambda: probe.sample(self._lag.p99(time.monotonic())),
        )  # fmt: skip
        self._find(loop, secret)
        file = self._file()
        file.write(self._state)
        self._open.append(lambda: file.remove(self._state))
        self._idle()

    def _read_keys(self) -> MeshKeys | None:
        node = self._config.node
        passwds = {record.name: record.passwd for record in self._config.nodes if record.passwd is not None}
        return keyring(self._state, self._data.path, node.cluster, node.passwd or "", passwds)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        curve = self._keys.curve if self._keys else None
        self._sockets = Sockets(
            loop,
            self._came,
            self._received,
            self._gone,
            self._idle,
            curve,
            self._heard,
            self._stranger,
            left=self._left,
        )
        self._open.append(self._sockets.close)
        local = socket_path(self._data.path, self._data.uuid)
        self._ipc = self._sockets.bind(f"ipc://{local}", trusted=True)
        self._tcp = bind_all(self._sockets, self._config.node.bind, self._keys is not None, self._data.port)
        self._data.port = int(self._tcp[0].rpartition(":")[2])
        if self._keys is None:
            self._pub = self._sockets.bind_pub(f"ipc://{local.with_suffix('.pub')}")
        else:
            self._pub = self._bind_pub(self._tcp[0])

    def _bind_pub(self, tcp: str) -> str:
        """Beside the first address, on the next port if it can be had: a firewall may have to know it."""
        host, _, port = tcp.rpartition(":")
        try:
            bound = self._sockets.bind_pub(f"{host}:{int(port) + 1}")
        except BindRefused:
            bound = self._sockets.bind_pub(f"{host}:0")
        return f"tcp://*:{bound.rpartition(':')[2]}"

    def _seeds(self) -> tuple[str, ...]:
        named = addresses(self._config, self.name)
        return tuple(dict.fromkeys(normal(address) for address in (*self._config.node.peers, *named)))

    def _introduction(self) -> Introduction:
        address, *also = places(self._tcp, self._config.discovery)
        key = self._keys.identity if self._keys else b""
        data = self._data
        return Introduction(data.uuid, self.name, data.boot, address, tuple(also), self._pub, key)

    def _find(self, loop: asyncio.AbstractEventLoop, secret: bytes) -> None:
        """Look for other nodes, and let them find this one."""
        keys, cluster = self._keys, self._config.node.cluster
        sign = keys.ring.sign if keys else None
        adverts = Adverts(cluster, keys.advert if keys else secret, sign, _verify)
        self._finding = Finding(
            loop, self._config.discovery, self._tcp, adverts, lambda: self.core.desk.me, self
        )
        self._open.append(self._finding.stop)
        self._finding.start()

    def _file(self) -> NodeFile:
        return NodeFile(
            name=self.name, uuid=self._data.uuid.hex(), boot=self._data.boot, pid=os.getpid(), ipc=self._ipc,
            tcp=self._tcp[0], data=str(self._data.path.absolute()), cluster=self._config.node.cluster,
            keyed=self._keys is not None,
        )  # fmt: skip

    def described(self) -> dict[str, Any]:
        """What a person wants to know once it is ready."""
        return {
            "name": self.name, "uuid": self._data.uuid.hex(), "boot": self._data.boot, "tcp": self._tcp,
            "ipc": self._ipc, "data": str(self._data.path), "pid": os.getpid(),
            "keys": self._keys is not None, "mdns": self._finding.spoken, "skipped": self._finding.skipped,
            "remembered": self.core.neighbours.acquaintances.remembered,
        }  # fmt: skip

    def _shell_status(self) -> dict[str, Any]:
        now = time.monotonic()
        return {
            "uptime": now - self._started, "pid": os.getpid(), "data": str(self._data.path),
            "ipc": self._ipc, "lag_p99": self._lag.p99(now), "lag_worst": self._lag.worst(now),
        }  # fmt: skip

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGTERM, SIGINT, SIGHUP, `stop()` or a reason to give up (then the error is raised).

        `ready` is called as soon as a signal would stop it cleanly.
        """
        loop = asyncio.get_running_loop()
        signals = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            signals.append(signal.SIGHUP)
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        ready()
        loop.call_later(SETTLED, give_back)
        assert self._stopping is not None
        await self._stopping.wait()
        for number in signals:
            loop.remove_signal_handler(number)
        if self._stop.error:
            raise MeshError(self._stop.error, code=self._stop.code)

    def stop(self) -> None:
        """Leave `run`."""
        if self._stopping is not None:
            self._stopping.set()

    async def close(self) -> None:
        """Answer what is being stored, say goodbye, write the rest, let go of everything."""
        try:
            async with asyncio.timeout(DRAIN):
                await self._stored_all()
        except TimeoutError:
            log.error("the disk did not finish within %g s: what it holds is not answered", DRAIN)
        self.core.goodbye(*self._clock())
        self._idle_now()
        if self._timer is not None:
            self._timer.cancel()
        for task in self._tasks:
            task.cancel()
        self._undo()

    async def _stored_all(self) -> None:
        """Until no commit is under way that somebody waits for."""
        while self.core.router.storing:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def _undo(self) -> None:
        while self._open:
            try:
                self._open.pop()()
            except (StoreError, MeshTimeout) as error:
                log.error("%s", error)

    # --- the core's world -----------------------------------------------------------------------------

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

    def _stranger(self, text: str) -> None:
        self.tell("refused", text, "warning")

    def advertised(self, node: Introduction) -> None:
        """Multicast DNS tells of another node."""
        self.core.advertised(node, *self._clock())
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
        for token in tokens:
            if isinstance(token, int):
                self.core.stored(token, error, *self._clock())
        self._commit_ended.set()
        if error is not None and not isinstance(error, StoreFull):
            # What a broken disk still says cannot be trusted: stop, and start again from what it holds.
            self._give_up(Stop(str(error), error.code))
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
                    self._sockets.send(conn, frames)
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
            case Proven(user):
                self._sockets.proven(user)
            case Note(level, text):
                log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)
            case Stop():
                self._give_up(effect)


def _verify(key: bytes, text: bytes, signature: bytes) -> bool:
    return verify(key, signature, text)
