"""The process of a node: it owns sockets, store, clock and chance, and decides nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from discovery.adverts import Adverts
from mesh.config import Config
from mesh.config_store import MEMORY
from mesh.core.node import NodeCore
from mesh.errors import BindRefused, MeshError, MeshTimeout, StoreError
from mesh.local.localnodes import NodeFile, pick_name
from mesh.local.private import cookie, socket_path, state_dir
from mesh.local.segments import SegmentLog
from mesh.security.keyring import MeshKeys, keyring
from mesh.security.signing import verify
from mesh.shell.binding import bind_all
from mesh.shell.crashpoints import crashpoint
from mesh.shell.disk import take_store
from mesh.shell.finding import Finding
from mesh.shell.finding import addresses as places
from mesh.shell.memory import end_without, give_back, take_descriptors
from mesh.shell.preparing import prepared, seeds
from mesh.shell.settings import allowance_of, settings_of
from mesh.shell.terminal import STAYS, has_terminal
from mesh.shell.world import World
from mesh.store.room import Tell
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets
from mesh.wire.commands import Introduction
from mesh.wire.replies import Process

log = logging.getLogger("mesh.node")
SETTLED = 1.0  # s after its start that a node needs no more memory than later
DRAIN = 10.0  # s that a clean stop may take


class Node(World):
    """One running node. `start`, then `run` until it is told to stop, then `close`.

    `accept_rollback`: go on with a store that went backwards, without what is lost.
    """

    def __init__(self, config: Config, environ: Mapping[str, str], accept_rollback: bool = False) -> None:
        super().__init__()
        self._accept_rollback = accept_rollback
        self._config = config
        self._crashpoint = crashpoint(environ)
        self._state = state_dir(environ)
        self._started = time.monotonic()
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
        self._prepared = prepared(self._config, self._state)
        probe = self._prepared.probe
        self.name, self._data = pick_name(self._state, node.id, socket.gethostname(), self._prepared.data)
        self._open.append(self._data.close)
        if node.store == MEMORY:
            # Others would drop as known what this node numbers from one again.
            self._data.be_another()
        self._keys = self._read_keys()
        tell = self._teller(loop, "disk")
        self._store, image = take_store(self._data, self._config, self._accept_rollback, tell)
        self._stopping = asyncio.Event()
        if self._config.snapshots.enabled:
            self._snapshots = self._open_snapshots(loop)
        kept = self._crashpoint.store(self._store) if self._crashpoint else self._store
        self._worker = StoreWorker(
            kept, lambda tokens, error: self._committed(loop, tokens, error), self._store.tend
        )
        self._open.append(lambda: self._worker.close(DRAIN))
        self._bind(loop)
        me = self._introduction()
        ring = self._keys.ring if self._keys else None
        secret = ring.secrets["node"] if ring else cookie(self._state)
        tell_of_plugin = partial(self._teller(loop, "plug-in"), "warning")
        self.core = NodeCore(
            settings_of(
                self._config,
                me,
                seeds(self._config, self.name),
                secret,
                ring,
                random.random,
                tell_of_plugin,
                self._data.seal,
                self._accept_rollback,
            ),
            os.urandom,
            random.random,
        )
        self.core.start(
            image,
            *self._clock(),
            self._process,
            lambda: probe.sample(self._lag.p99(time.monotonic())),
            lambda: self._store.reach,
        )
        self._find(loop, secret)
        file = self._file()
        file.write(self._state)
        self._open.append(lambda: file.remove(self._state))
        self._idle()

    def _open_snapshots(self, loop: asyncio.AbstractEventLoop) -> SegmentLog:
        s, data, tell = self._config.snapshots, self._data, self._teller(loop, "snapshots")
        log = SegmentLog(self._snapshots_dir(), self.name, data.uuid, data.boot, s.limit_bytes, tell)
        self._open.append(lambda: log.close(DRAIN))
        return log

    def _teller(self, loop: asyncio.AbstractEventLoop, kind: str) -> Tell:
        """For threads, and for the time before the core is there."""

        def tell(level: str, text: str) -> None:
            loop.call_soon_threadsafe(self._tell_late, kind, level, text)

        return tell

    def _tell_late(self, kind: str, level: str, text: str) -> None:
        if self._open:
            self.tell(kind, text, level)
        else:  # the node could not start, or has stopped
            log.log(logging.getLevelNamesMapping()[level.upper()], "%s", text)

    def _snapshots_dir(self) -> Path:
        return (self._prepared.snapshots or self._data.path / "snapshots").absolute()

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
            failed=self._failed,
            left=self._left,
            allowance=allowance_of(self._config.limits),
        )
        self._open.append(self._sockets.close)
        send = self._sockets.send
        self._put = self._crashpoint.sender(send) if self._crashpoint else send
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
            name=self.name,
            uuid=self._data.uuid.hex(),
            boot=self._data.boot,
            pid=os.getpid(),
            ipc=self._ipc,
            tcp=self._tcp[0],
            data=str(self._data.path.absolute()),
            cluster=self._config.node.cluster,
            keyed=self._keys is not None,
            snapshots=str(self._snapshots_dir()) if self._config.snapshots.enabled else "",
        )

    def described(self) -> dict[str, Any]:
        """What a person wants to know once it is ready. `at`: where others can dial what is bound."""
        me = self.core.desk.me
        return {
            "name": self.name,
            "uuid": self._data.uuid.hex(),
            "boot": self._data.boot,
            "tcp": self._tcp,
            "at": [me.address, *me.also],
            "ipc": self._ipc,
            "data": str(self._data.path),
            "pid": os.getpid(),
            "keys": self._keys is not None,
            "mdns": self._finding.spoken,
            "skipped": self._finding.skipped,
            "remembered": self.core.neighbours.acquaintances.remembered,
        }

    def _process(self) -> Process:
        now = time.monotonic()
        return Process(
            uptime=now - self._started,
            pid=os.getpid(),
            data=str(self._data.path),
            ipc=self._ipc,
            lag_p99=self._lag.p99(now),
            lag_worst=self._lag.worst(now),
            snapshots=dict(self._snapshots.counters()) if self._config.snapshots.enabled else {},
            disk=dict(self._store.status()),
        )

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGTERM, SIGINT, `stop()` or a reason to give up (then the error is raised).

        SIGHUP ends it, too, if it was started in a terminal, which is closed now. `ready` is called as soon
        as a signal would stop it cleanly.
        """
        loop = asyncio.get_running_loop()
        end_without(loop)
        signals = [signal.SIGTERM, signal.SIGINT]
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(signal.SIGHUP, self.stop if has_terminal() else self._stay)
            signals.append(signal.SIGHUP)
        ready()
        loop.call_later(SETTLED, give_back)
        assert self._stopping is not None
        await self._stopping.wait()
        for number in signals:
            loop.remove_signal_handler(number)
        if self._stop.error:
            raise MeshError(self._stop.error, code=self._stop.code)

    def _stay(self) -> None:
        """To a service SIGHUP says: read your settings again."""
        self.tell("settings", f"SIGHUP: {STAYS}", "warning")

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
        while self.core.disk.storing and not self._has_failed:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def _undo(self) -> None:
        while self._open:
            try:
                self._open.pop()()
            except (StoreError, MeshTimeout) as error:
                log.error("%s", error)


def _verify(key: bytes, text: bytes, signature: bytes) -> bool:
    return verify(key, signature, text)
