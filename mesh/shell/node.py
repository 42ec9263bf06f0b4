"""The process of a node: sockets, stores, clock and randomness, without decisions."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from mesh.errors import CoreFailed
from mesh.kernel.node import NodeCore
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
SETTLED = 1.0  # s until startup memory can be returned


class NodeRuntime:
    """A running node, made by `mesh.shell.starting.start`.

    Call `run`, then `close`. `undo` releases everything that the start acquired.
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
        """The core, which makes all decisions."""
        return self.driver.core

    @property
    def world(self) -> World:
        """The world, which carries out the core's effects."""
        return self.driver.world

    def described(self) -> dict[str, Any]:
        """Return facts to show when the node is ready.

        `at` lists the addresses that others can dial. `named` is the first of them, if it was configured.
        """
        me, data = self.core.parts.context.me, self.held.data
        return {
            "name": self.name,
            "uuid": data.uuid.hex(),
            "boot": data.boot,
            "tcp": self.world.bound.tcp,
            "at": [me.address, *me.also],
            "named": self._finding.named,
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
        """Run until SIGTERM, SIGINT, `stop()` or a fatal error, which is raised.

        SIGHUP, unless it is ignored as under nohup, ends a node with a controlling terminal, as the terminal
        was closed; for other nodes it reloads the configuration. `ready` is called as soon as signals stop
        the node cleanly.
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
        self.notifier.send_lines(READY, f"STATUS=node {self.name} serves")
        self._beat(loop)
        loop.call_later(SETTLED, give_back)
        await self.driver.stopping.wait()
        self.notifier.send_lines(STOPPING)
        for number in signals:
            loop.remove_signal_handler(number)
        if self.driver.why is not None:
            raise self.driver.why

    def stop(self) -> None:
        """Make `run` return."""
        self.driver.stop()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.notifier.interval is not None:
            self.notifier.send_lines(ALIVE)
            loop.call_later(self.notifier.interval, self._beat, loop)

    def _reload(self) -> None:
        self.notifier.reloading()
        self.driver.reload("SIGHUP")
        self.notifier.send_lines(READY)

    async def close(self) -> None:
        """Finish commits and their answers within DRAIN seconds, say goodbye, and release all resources."""
        try:
            async with asyncio.timeout(DRAIN):
                await self.driver.stores.all_stored()
        except TimeoutError:
            log.error("the disk did not finish within %g s; pending requests are not answered", DRAIN)
        self.driver.goodbye()
        if not isinstance(self.driver.why, CoreFailed):  # else its figures may be inconsistent
            context = self.core.parts.context
            log.info("%s", ends(self.name, context.clock.now - self._began, context.figures()))
        self._undo.close()


def process(held: Holdings, driver: Driver, began: float) -> Process:
    """Return the figures of a node's process, which started at the monotonic time `began`."""
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
