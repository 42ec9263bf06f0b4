"""The process of a node: it owns sockets, store, clock and chance, and decides nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from mesh.core.node import NodeCore
from mesh.errors import CoreFailed
from mesh.shell.account import ends
from mesh.shell.driver import Driver
from mesh.shell.finding import Finding
from mesh.shell.holdings import DRAIN, Holdings
from mesh.shell.logs import levels
from mesh.shell.memory import end_without, give_back
from mesh.shell.queuestores import merged_status
from mesh.shell.systemd import ALIVE, READY, STOPPING, Notifier
from mesh.shell.terminal import has_terminal
from mesh.shell.world import World
from mesh.wire.replies import Process

log = logging.getLogger("mesh.node")
SETTLED = 1.0  # s after its start that a node needs no more memory than later


class NodeRuntime:
    """A running node, as `mesh.shell.starting.start` makes it: `run` until it is told to stop, then `close`.

    `undo` lets go of all that the start has taken.
    """

    def __init__(
        self,
        held: Holdings,
        driver: Driver,
        finding: Finding,
        undo: ExitStack,
        began: float,
        http: str,
        environ: Mapping[str, str],
    ) -> None:
        self.name, self._http = held.name, http
        self.notifier = Notifier(environ)
        self.held, self.driver, self._finding, self._undo, self._began = held, driver, finding, undo, began

    @property
    def core(self) -> NodeCore:
        """The core, which decides."""
        return self.driver.core

    @property
    def world(self) -> World:
        """The world, in which that is carried out."""
        return self.driver.world

    def described(self) -> dict[str, Any]:
        """The facts that a person wants once it is ready. `at`: where others can dial what is bound."""
        me, data = self.core.parts.desk.me, self.held.data
        return {
            "name": self.name,
            "uuid": data.uuid.hex(),
            "boot": data.boot,
            "tcp": self.world.bound.tcp,
            "at": [me.address, *me.also],
            "ipc": self.world.bound.ipc,
            "pub": self.world.bound.pub,
            "http": self._http,
            "data": str(data.path),
            "pid": os.getpid(),
            "keys": self.held.keys is not None,
            "mdns": self._finding.spoken,
            "skipped": self._finding.skipped,
            "remembered": self.core.parts.neighbours.acquaintances.remembered,
        }

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGTERM, SIGINT, `stop()` or a reason to give up (then the error is raised).

        SIGHUP ends it, too, if it was started in a terminal, which is closed now. Otherwise it reads
        its configuration again. `ready` is called as soon as a signal would stop it cleanly.
        """
        loop = asyncio.get_running_loop()
        end_without(loop)
        signals = [signal.SIGTERM, signal.SIGINT]
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(signal.SIGHUP, self.stop if has_terminal() else self._reload)
            signals.append(signal.SIGHUP)
        ready()
        self.notifier.say(READY, f"STATUS=node {self.name} serves")
        self._beat(loop)
        loop.call_later(SETTLED, give_back)
        await self.driver.stopping.wait()
        self.notifier.say(STOPPING)
        for number in signals:
            loop.remove_signal_handler(number)
        if self.driver.why is not None:
            raise self.driver.why

    def stop(self) -> None:
        """Leave `run`."""
        self.driver.stop()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell systemd again and again that this loop lives."""
        if self.notifier.interval is not None:
            self.notifier.say(ALIVE)
            loop.call_later(self.notifier.interval, self._beat, loop)

    def _reload(self) -> None:
        """To a service SIGHUP says: read your settings again."""
        self.notifier.reloading()
        self.driver.reload("SIGHUP")
        self.notifier.say(READY)

    async def close(self) -> None:
        """Answer what is being stored, say goodbye, write the rest, let go of everything."""
        try:
            async with asyncio.timeout(DRAIN):
                await self.driver.all_stored()
        except TimeoutError:
            log.error("the disk did not finish within %g s: what it holds is not answered", DRAIN)
        self.driver.goodbye()
        if not isinstance(self.driver.why, CoreFailed):  # else its figures may be half changed, too
            desk = self.core.parts.desk
            log.info("%s", ends(self.name, desk.now - self._began, desk.figures()))
        self._undo.close()


def process(held: Holdings, driver: Driver, began: float) -> Process:
    """The figures of a node's process, which began then."""
    now = time.monotonic()
    return Process(
        uptime=now - began,
        pid=os.getpid(),
        data=str(held.data.path),
        ipc=driver.world.bound.ipc,
        lag_p99=driver.lag.p99(now),
        lag_worst=driver.lag.worst(now),
        snapshots=dict(held.snapshots.counters()) if held.snapshots is not None else {},
        disk=merged_status(held.stores.values()),
        log=levels(),
    )
