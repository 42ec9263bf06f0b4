"""What drives a core? The loop: it tells the core what happens and when, and has carried out what follows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from typing import Any

from discovery.state import Sample
from mesh.core.desk.effects import Stop
from mesh.core.node import NodeCore
from mesh.errors import Refused, StoreError, StoreFull
from mesh.operations import Image, Reach
from mesh.shell.damper import Damper
from mesh.shell.lag import Lag
from mesh.shell.world import World
from mesh.wire.commands import Introduction

DAMPED = ("refused", "advert")  # kinds of which strangers could have us tell as many as they like
LATE = 0.25  # s: a loop that comes so late to its work has been stopped or starved


class Driver:
    """The clock and the turns of one core.

    `open_world` is given the driver, which its sockets and its disk call once the loop runs again;
    `make_core` that world, since a core begins with the addresses that were bound.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        open_world: Callable[[Driver], World],
        make_core: Callable[[World], NodeCore],
    ) -> None:
        self.lag = Lag()
        self.damper = Damper()
        self.stopping = asyncio.Event()
        self.why = Stop()  # it was stopped, if not by `stop`
        self._loop = loop
        self._has_failed = False  # the store
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._turn_planned = False
        self._commit_ended = asyncio.Event()
        self.world = open_world(self)
        self.core = make_core(self.world)

    def begin(
        self,
        image: Image,
        status: Callable[[], dict[str, Any]],
        sample: Callable[[], Sample],
        reach: Callable[[], Reach],
    ) -> None:
        """Take up what the store holds. See NodeCore.start."""
        self.core.start(image, *self._clock(), status, sample, reach)
        self.idle()

    def stop(self) -> None:
        """It is time to end."""
        self.stopping.set()

    def give_up(self, stop: Stop) -> None:
        """The same, and for a reason that people should know."""
        self.why = stop
        self.stop()

    async def all_stored(self) -> None:
        """Until no commit is under way that somebody waits for."""
        while self.core.disk.storing and not self._has_failed:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def goodbye(self) -> None:
        """Leave on purpose: what the core says then is the last."""
        if not self._is_over:
            self.core.goodbye(*self._clock())
            self._turn()

    def close(self) -> None:
        """From now on nothing comes of what happens."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    # --- what happens on connections --------------------------------------------------------------------

    def came(self, key: Hashable, endpoint: str, trusted: bool, user: str) -> None:
        self.core.accept(key, endpoint, trusted, user)

    def received(self, key: Hashable, frames: list[bytes]) -> None:
        self.core.receive(key, frames, *self._clock())

    def gone(self, key: Hashable) -> None:
        self.core.disconnected(key, *self._clock())

    def heard(self, frames: list[bytes]) -> None:
        self.core.gossiped(frames, *self._clock())

    def failed(self, key: Hashable, error: Refused) -> None:
        if not self.core.failed(key, error.what, error.hint, *self._clock()):
            self.stranger(error.what)

    def nowhere(self, conn: Hashable, why: str) -> None:
        """What was to be dialled has no address."""
        self.core.failed(conn, why, "", *self._clock())
        self.gone(conn)
        self.idle()

    def stranger(self, text: str) -> None:
        self.tell("refused", text, "warning")

    def left(self) -> None:
        self.core.left(*self._clock())
        self.idle()

    def knocked(self, uuid: bytes, refused: bool) -> None:
        """What the operating system at a node's address said."""
        self.core.knocked(uuid, refused, *self._clock())
        self.idle()

    # --- what is found, and told --------------------------------------------------------------------------

    def advertised(self, node: Introduction) -> None:
        """Multicast DNS tells of another node."""
        self.core.advertised(node, *self._clock())
        self.idle()

    def near(self, name: str, address: str) -> None:
        """Multicast DNS tells of another mesh."""
        self.core.near(name, address, *self._clock())
        self.idle()

    def readdressed(self, there: tuple[str, ...]) -> None:
        """This machine has other addresses now."""
        self.core.readdressed(there[0], there[1:], *self._clock())
        self.idle()

    def tell(self, kind: str, text: str, level: str = "info") -> None:
        """Something happened here that people may want to read about."""
        if kind == "advert":
            self.core.desk.count("adverts_rejected")
        if kind in DAMPED and not self.damper.is_news(kind, text, time.monotonic()):
            return
        self.core.tell(kind, text, *self._clock(), level)
        self.idle()

    # --- the disk -----------------------------------------------------------------------------------------

    def committed(self, tokens: list[Hashable], error: StoreError | None) -> None:
        """Commits have ended. Called in the thread of the disk."""
        self._loop.call_soon_threadsafe(self._stored, tokens, error)

    def _stored(self, tokens: list[Hashable], error: StoreError | None) -> None:
        fatal = None if isinstance(error, StoreFull) else error
        if fatal is not None:
            # What a broken disk still says cannot be trusted: stop, and start again from what it holds.
            # Nobody knows what a failed commit has written, also of one who is fenced off: an earlier try
            # may have been carried out, and only the answer lost. So whoever waits for an answer gets none
            # here, and the next process recognises what is there.
            self._has_failed = True
            self.give_up(Stop(f"{fatal.what} {fatal.hint}".strip(), fatal.code))
        else:
            for token in tokens:
                if isinstance(token, int):
                    self.core.stored(token, error, *self._clock())
        self._commit_ended.set()
        self.idle()

    # --- time, and turns ----------------------------------------------------------------------------------

    def _clock(self) -> tuple[float, int]:
        return time.monotonic(), time.time_ns()

    def _tick(self) -> None:
        self._timer = None
        now = time.monotonic()
        late = now - self._due
        self.lag.note(late, now)
        if late > LATE:
            # What came in meanwhile is heard before anybody is called silent, and nobody's time ran out.
            self.core.lagged(late)
            self._loop.call_soon(self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self.core.tick(*self._clock())
        for kind, text in self.damper.over(time.monotonic()):
            self.core.tell(kind, text, *self._clock(), "warning")
        self.idle()

    def idle(self) -> None:
        """Carry out what the core wants, once for all that this turn of the loop brings."""
        if not self._turn_planned:
            self._turn_planned = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_planned = False
        if self._is_over:
            return
        carry_out = self.world.carry_out
        for effect in self.core.take_effects():
            carry_out(effect)
        if self._timer is None or self.core.alarm < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = max(self.core.alarm, time.monotonic())
            self._timer = self._loop.call_at(self._due, self._tick)
