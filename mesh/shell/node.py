"""The process of a node: it owns sockets, store, clock and chance, and decides nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from mesh.config import Config, addresses, rules
from mesh.core.effects import Commit, Dial, Effect, HangUp, Note, Send, Stop
from mesh.core.node import NodeCore
from mesh.core.settings import Settings
from mesh.errors import MeshError, MeshTimeout, StoreError, StoreFull
from mesh.local.addresses import DEFAULT_BIND, check_loopback, normal
from mesh.local.datadir import DataDir
from mesh.local.localnodes import NodeFile, pick_name
from mesh.local.private import cookie, socket_path, state_dir
from mesh.shell.lag import Lag
from mesh.store.sqlite import SQLiteStore
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from mesh.wire.commands import Introduction

log = logging.getLogger("mesh.node")
DRAIN = 10.0  # s that a clean stop may take


class Node:
    """One running node. `start`, then `run` until it is told to stop, then `close`."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._config = config
        self._state = state_dir(environ)
        self._secret = cookie(self._state)
        self._lag = Lag()
        self._stopping: asyncio.Event | None = None
        self._stop = Stop()
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._started = time.monotonic()
        self._idle_planned = False
        self._commit_ended = asyncio.Event()
        self._open: list[Callable[[], None]] = []  # how to undo what start has done, in reverse

    async def start(self) -> None:
        """Take the data directory, load the store, bind, and be there for clients."""
        try:
            self._start()
        except BaseException:
            self._undo()
            raise

    def _start(self) -> None:
        node = self._config.node
        data = Path(node.data).expanduser() if node.data else None
        wanted = [check_loopback(normal(address)) for address in node.bind or (DEFAULT_BIND,)]
        self.name, self._data = pick_name(self._state, node.id, socket.gethostname(), data)
        self._open.append(self._data.close)
        store = SQLiteStore(self._data.store_path)
        image = store.load()
        loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._worker = StoreWorker(store, lambda tokens, error: self._committed(loop, tokens, error))
        self._open.append(lambda: self._worker.close(DRAIN))
        self._sockets = Sockets(loop, self._came, self._received, self._gone, self._idle)
        self._open.append(self._sockets.close)
        self._ipc = self._sockets.bind(f"ipc://{socket_path(self._data.path, self._data.uuid)}", trusted=True)
        self._tcp = [self._bind(address, self._data) for address in wanted]
        self._data.port = int(self._tcp[0].rpartition(":")[2])
        named = addresses(self._config, self.name)
        seeds = tuple(dict.fromkeys(normal(address) for address in (*node.peers, *named)))
        self.core = NodeCore(self._settings(seeds), os.urandom, random.random)
        self.core.start(image, *self._clock(), self._shell_status)
        file = self._file()
        file.write(self._state)
        self._open.append(lambda: file.remove(self._state))
        self._idle()

    def _bind(self, address: str, data: DataDir) -> str:
        """A node that asks for any port takes the one it had last, so that others find it again."""
        if address.endswith(":0") and data.port is not None:
            try:
                return self._sockets.bind(f"{address[:-1]}{data.port}", trusted=False)
            except MeshError:
                pass  # somebody else has it now
        return self._sockets.bind(address, trusted=False)

    def _settings(self, seeds: tuple[str, ...]) -> Settings:
        c = self._config
        return Settings(
            me=Introduction(self._data.uuid, self.name, self._data.boot, self._tcp[0]),
            cluster=c.node.cluster, secret=self._secret, seeds=seeds,
            max_content=c.limits.max_content, window_bytes=c.limits.window_bytes,
            window_count=c.limits.window_count, backlog_bytes=c.limits.backlog_bytes,
            topics_bytes=c.limits.topics_bytes, linger=c.limits.linger, peer_linger=60 * c.limits.linger,
            ping=c.timing.ping, silence=c.timing.silence,
            backoff_min=c.timing.backoff_min, backoff_max=c.timing.backoff_max,
            pings={node.name: node.ping for node in c.nodes if node.ping is not None},
            scope=c.default_scope, links=c.links, known=tuple(node.name for node in c.nodes), rules=rules(c),
            patience=c.timing.forward_patience, tailback_bytes=c.limits.tailback_bytes,
            tailback_count=c.limits.tailback_count, tailback_ttl=c.limits.tailback_ttl,
        )  # fmt: skip

    def _file(self) -> NodeFile:
        return NodeFile(
            name=self.name, uuid=self._data.uuid.hex(), boot=self._data.boot, pid=os.getpid(), ipc=self._ipc,
            tcp=self._tcp[0], data=str(self._data.path.absolute()), cluster=self._config.node.cluster,
        )  # fmt: skip

    def described(self) -> dict[str, Any]:
        """What a person wants to know once it is ready."""
        return {"name": self.name, "uuid": self._data.uuid.hex(), "boot": self._data.boot, "tcp": self._tcp,
                "ipc": self._ipc, "data": str(self._data.path), "pid": os.getpid()}  # fmt: skip

    def _shell_status(self) -> dict[str, Any]:
        return {"uptime": time.monotonic() - self._started, "pid": os.getpid(), "data": str(self._data.path),
                "ipc": self._ipc, "lag_p99": self._lag.p99(), "lag_worst": self._lag.worst()}  # fmt: skip

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

    def _came(self, key: Hashable, endpoint: str, trusted: bool) -> None:
        self.core.accept(key, endpoint, trusted)

    def _received(self, key: Hashable, frames: list[bytes]) -> None:
        self.core.receive(key, frames, *self._clock())

    def _gone(self, key: Hashable) -> None:
        self.core.disconnected(key, *self._clock())

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
        now, wall = self._clock()
        self._lag.note(now - self._due)
        self.core.tick(now, wall)
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
                self._sockets.send(conn, frames)
            case Commit(token, ops):
                self._worker.submit(token, ops)
            case Dial(conn, address):
                self._sockets.dial(conn, address)
            case HangUp(conn):
                self._sockets.hang_up(conn)
            case Note(level, text):
                log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)
            case Stop():
                self._give_up(effect)
