"""Carries out effects of the core on sockets, stores and log, without decisions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Hashable, Mapping
from typing import Any, Protocol

from mesh.errors import MeshError
from mesh.kernel.context.effects import (
    Backup,
    Commit,
    Dial,
    Effect,
    Fetch,
    Gossip,
    HangUp,
    Listen,
    LogLine,
    ProbeAddress,
    Proven,
    Send,
    SetLevel,
    Stop,
    WriteLine,
)
from mesh.local.segments import SegmentLog
from mesh.security.keys import Keys
from mesh.shell.backing import Backing
from mesh.shell.binding import Bound
from mesh.shell.crashpoints import SendFrames
from mesh.shell.knocking import is_refused
from mesh.shell.logs import set_level
from mesh.shell.program import Program
from mesh.shell.resolving import is_ip, resolved
from mesh.snapshots.line import EVENT, HistoryLine
from mesh.snapshots.moment import iso
from mesh.store.worker import StoreWorker
from mesh.transport import Sockets

AGAIN = (0.0, 0.1, 0.4)  # s between attempts: a dying process may still listen


class EffectResults(Protocol):
    """Receiver of the results of slow effects, and of effects that the world cannot carry out itself."""

    def nowhere(self, conn: Hashable, why: str) -> None: ...
    def knocked(self, uuid: bytes, refused: bool) -> None: ...
    def stop(self) -> None: ...
    def give_up(self, why: MeshError) -> None: ...


class World:
    """The sockets, the stores and the log of one node.

    `put` sends on a connection of the given sockets. `sites` holds the keys for dialing other sites.
    """

    def __init__(
        self,
        sockets: Sockets,
        bound: Bound,
        put: SendFrames,
        workers: Mapping[str, StoreWorker],
        snapshots: SegmentLog | None,
        hears: EffectResults,
        backing: Backing,
        sites: Mapping[str, Keys] | None = None,
    ) -> None:
        self.sockets, self.bound = sockets, bound
        self._put, self._workers, self._snapshots, self._hears = put, workers, snapshots, hears
        self._sites = sites or {}
        self._last: HistoryLine | None = None  # last recorded line
        self._tasks: set[asyncio.Task[None]] = set()
        self._named: dict[Hashable, list[list[bytes]]] = {}  # name not resolved yet, with frames to send
        self._by_kind: Mapping[type[Effect], Callable[[Any], None]] = {
            Send: self._send,
            Commit: lambda it: workers[it.store].submit(it.token, it.ops),
            Fetch: lambda it: workers[it.store].fetch(it.token, it.positions),
            Dial: self._dial,
            HangUp: self._hang_up,
            Gossip: lambda it: sockets.publish(it.frames),
            Listen: lambda it: (sockets.listen if it.wanted else sockets.unlisten)(it.address),
            ProbeAddress: lambda it: self._later(self._knock(it.uuid, it.address)),
            Proven: lambda it: sockets.proven(it.conn, it.user, it.is_node),
            WriteLine: lambda it: self._record(it.line),
            LogLine: _log,
            Backup: lambda it: backing.start_copy(),
            SetLevel: lambda it: set_level(it.logger, it.level),
            Stop: self._stop,
        }

    def begin(self) -> None:
        """Start the workers: the core has loaded the stores and leaves them to the workers."""
        for worker in self._workers.values():
            worker.start()

    def adopt_sites(self, sites: Mapping[str, Keys]) -> None:
        """Set the keys with which other sites are dialed."""
        self._sites = sites

    def carry_out(self, effect: Effect) -> None:
        """Carry out an effect without blocking."""
        self._by_kind[type(effect)](effect)

    def _send(self, effect: Send) -> None:
        if effect.conn in self._named:
            self._named[effect.conn].append(effect.frames)
        elif isinstance(effect.conn, Program):
            effect.conn.put(effect.frames)
        else:
            self._put(effect.conn, effect.frames)

    def _hang_up(self, effect: HangUp) -> None:
        self._named.pop(effect.conn, None)
        if isinstance(effect.conn, Program):
            effect.conn.hang_up()
        else:
            self.sockets.hang_up(effect.conn)

    def _stop(self, effect: Stop) -> None:
        if effect.error:
            self._hears.give_up(MeshError(effect.error, code=effect.code))
        else:
            self._hears.stop()

    def last_words(self, kind: str, text: str) -> None:
        """Record in the snapshots an event that the core can no longer report.

        Nothing is recorded before the first line of the snapshots.
        """
        last = self._last
        if last is not None:
            self._record(
                HistoryLine(
                    kind=EVENT,
                    cluster=last.cluster,
                    observer=last.observer,
                    observer_uuid=last.observer_uuid,
                    observer_boot=last.observer_boot,
                    line=last.line + 1,
                    ts=iso(time.time_ns()),
                    node=last.observer,
                    uuid=last.observer_uuid,
                    boot=last.observer_boot,
                    age=0.0,
                    event=kind,
                    text=text,
                )
            )

    def _record(self, line: HistoryLine) -> None:
        if self._snapshots is not None:
            self._snapshots.record(line)
            self._last = line

    def close(self) -> None:
        """Cancel name lookups and connection checks."""
        for task in self._tasks:
            task.cancel()

    def _dial(self, effect: Dial) -> None:
        keys = self._sites[effect.site] if effect.site else None
        if is_ip(effect.address):
            self.sockets.dial(effect.conn, effect.address, keys)
        else:
            self._named[effect.conn] = []
            self._later(self._dial_by_name(effect.conn, effect.address, keys))

    async def _dial_by_name(self, conn: Hashable, address: str, keys: Keys | None) -> None:
        found = await resolved(address)
        if conn not in self._named:
            return  # hung up meanwhile
        waiting = self._named.pop(conn)
        if found is None:
            host = address.removeprefix("tcp://").rpartition(":")[0]
            self._hears.nowhere(conn, f"the host {host} is unknown")
        else:
            self.sockets.dial(conn, found, keys)
            for frames in waiting:
                self.sockets.send(conn, frames)

    async def _knock(self, uuid: bytes, address: str) -> None:
        for pause in AGAIN:
            await asyncio.sleep(pause)
            if await is_refused(address):
                self._hears.knocked(uuid, True)
                return
        self._hears.knocked(uuid, False)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _log(line: LogLine) -> None:
    logging.getLogger(line.logger).log(logging.getLevelNamesMapping()[line.level.upper()], "%s", line.text)
