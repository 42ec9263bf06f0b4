"""Drives a core: calls the core for each event of the loop, and carries out the core's effects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from mesh.discovery.state import Sample
from mesh.errors import MeshError, Refused, StoreError, StoreFull
from mesh.kernel.context.component import Reloaded, no_file
from mesh.kernel.node import NodeCore
from mesh.operations import Image, Stored, StoreReach
from mesh.shell.damper import Damper
from mesh.shell.failing import failure
from mesh.shell.lag import Lag
from mesh.shell.memory import uncollected
from mesh.shell.poison import Guilt, Poison
from mesh.shell.program import Program
from mesh.shell.seen import SeenNode, seen
from mesh.shell.world import World
from mesh.wire.commands import Command, Introduction
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Process

DAMPED = ("refused", "advert", "poisoned")  # kinds that strangers could flood
FAILED = "failed"  # kind of the event
NO_MESSAGE: list[bytes] = []  # placeholder for other events of a turn
LATE = 0.25  # s: a later timer means a stalled loop


class Driver:
    """The driver of one core until its end: passes events and the time to the core, and runs its effects.

    `open_world` receives the driver, which the sockets and the stores call once the loop runs again.
    `make_core` receives the opened world, because a core needs the bound addresses.
    """

    # Law: an exception of the core may leave half a change behind. The core is not called again, its pending
    # effects are dropped, and the node ends.

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        poison: Poison,
        open_world: Callable[[Driver], World],
        make_core: Callable[[World], NodeCore],
    ) -> None:
        self.lag = Lag()
        self.damper = Damper()
        self.stopping = asyncio.Event()
        self.why: MeshError | None = None  # why it stopped, if not by `stop`
        self._loop = loop
        self._poison = poison
        self._is_wary = not poison.is_empty  # check each message before the core reads it
        self._turn_messages: list[list[bytes]] = []  # messages since effects were carried out
        self._is_over = False
        self._has_failed = False  # store or core failed
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._turn_planned = False
        self._commit_ended = asyncio.Event()
        self.world = open_world(self)
        self.core = make_core(self.world)

    def begin(
        self,
        images: Mapping[str, Image],
        process: Callable[[], Process],
        sample: Callable[[], Sample],
        reach: Callable[[], StoreReach],
        reload: Callable[[], Reloaded] = no_file,
        is_tight: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start the core with `images`, the contents by store; "" is the node's own store.

        See NodeCore.start for the callables. Raises: CoreFailed if the start fails, or another MeshError if a
        store cannot be loaded.
        """
        others = {store: image for store, image in images.items() if store}
        try:
            with uncollected():
                self.core.start(images[""], *self._clock(), process, sample, reach, others, reload, is_tight)
        except MeshError:
            raise  # the store's content cannot be loaded
        except Exception as error:
            raise self._fail(error, "its start", ()) from error
        self.world.begin()
        if self._poison.why:
            self.report_event(FAILED, f"restarted after a failure: {self._poison.why}", "warning")
            self._poison.mark_reported()
        self.idle()

    def stop(self) -> None:
        self.stopping.set()

    def give_up(self, why: MeshError) -> None:
        """Stop the node, and let `NodeRuntime.run` raise `why`."""
        self.why = why
        self.stop()

    async def all_stored(self) -> None:
        """Wait until all commits on which an answer depends have ended, or the node has failed."""
        while not self._has_failed and self.core.parts.disks.storing:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def goodbye(self) -> None:
        """Send the core's goodbye messages.

        Nothing is sent afterwards.
        """
        self._call(self.core.goodbye, "its goodbye")
        self._turn()

    def close(self) -> None:
        """Ignore all later events."""
        self._is_over = self._is_wary = True
        if self._timer is not None:
            self._timer.cancel()

    # --- connection events ------------------------------------------------------------------------------

    def on_connected(self, key: Hashable, endpoint: str, trusted: bool, user: str) -> None:
        self._call(lambda *_: self.core.accept(key, endpoint, trusted, user), "a new connection")

    def received(self, key: Hashable, frames: list[bytes]) -> None:
        if self._is_wary and not self._may_hear(key, frames):
            return
        self._turn_messages.append(frames)
        try:
            self.core.receive(key, frames, *self._clock())
        except Exception as error:
            self._fail(error, "a message", [frames])

    def came_within(self, program: Program) -> None:
        """Accept the program of this process as a client."""
        ipc = self.world.bound.ipc
        self._call(lambda *_: self.core.accept(program, ipc, True, within=True), "a new connection")

    def on_command(self, program: Program, command: Command, envelopes: Sequence[Envelope]) -> None:
        # Not among the suspect messages: another process would not receive it.
        self._call(partial(self.core.on_command, program, command, envelopes), "a command of its own program")

    def on_disconnected(self, key: Hashable) -> None:
        self._call(partial(self.core.disconnected, key), "a connection's end")

    def on_gossip(self, frames: list[bytes]) -> None:
        if not self._is_wary or self._poison.verdict(frames) is not Guilt.GUILTY:
            self._call(partial(self.core.gossiped, frames), "gossip", [frames])

    def on_dial_failed(self, key: Hashable, error: Refused) -> None:
        if not self._call(partial(self.core.on_dial_failed, key, error.what, error.hint), "a failed dial"):
            self.stranger(error.what)

    def reload(self, by: str) -> None:
        """Reload the configuration, as requested by `by`, such as a signal."""
        self._call(partial(self.core.reload, by=by), "a reload")

    def nowhere(self, conn: Hashable, why: str) -> None:
        """Report to the core that the name of a dialed address cannot be resolved."""
        self._call(partial(self.core.on_dial_failed, conn, why, ""), "a failed dial")
        self.on_disconnected(conn)
        self.idle()

    def stranger(self, text: str) -> None:
        self.report_event("refused", text, "warning")

    def on_inbound_closed(self) -> None:
        self._call(self.core.on_inbound_closed, "a connection's end")
        self.idle()

    def knocked(self, uuid: bytes, refused: bool) -> None:
        """Report to the core whether the operating system at a node's address refused a connection."""
        self._call(partial(self.core.knocked, uuid, refused), "a knock")
        self.idle()

    # --- discovery and events -----------------------------------------------------------------------------

    def advertised(self, node: Introduction) -> None:
        """Report a node that multicast DNS found."""
        self._call(partial(self.core.advertised, node), "an advert")
        self.idle()

    def on_foreign_mesh(self, name: str, address: str) -> None:
        """Report a foreign mesh that multicast DNS found."""
        self._call(partial(self.core.on_foreign_mesh, name, address), "an advert")
        self.idle()

    def readdressed(self, there: tuple[str, ...]) -> None:
        """Report the new addresses of this machine."""
        self._call(partial(self.core.readdressed, there[0], there[1:]), "a change of address")
        self.idle()

    def report_event(self, kind: str, text: str, level: str = "info") -> None:
        """Report an event for users.

        Events of the kinds that strangers can cause are dropped if they repeat too often.
        """
        if kind == "advert":
            self.core.parts.context.counters.count("adverts_rejected")
        if kind in DAMPED and not self.damper.is_news(kind, text, time.monotonic()):
            return
        self._call(partial(self.core.report_event, kind, text, level=level), "an event")
        self.idle()

    # --- the disk -----------------------------------------------------------------------------------------

    def committed(self, store: str, tokens: list[Hashable], error: StoreError | None) -> None:
        """Report the end of commits to a store.

        The store's thread calls this method.
        """
        self._loop.call_soon_threadsafe(self._stored, tokens, error, store)

    def _stored(self, tokens: list[Hashable], error: StoreError | None, store: str = "") -> None:
        if error is not None and not isinstance(error, StoreFull):
            self._store_failed(error)
        else:
            for token in tokens:
                if isinstance(token, int):
                    self._call(partial(self.core.stored, token, error, store=store), "the end of a commit")
        self._commit_ended.set()
        self.settle()  # answers wait only for the disk

    def fetched(self, store: str, token: Hashable, found: list[Stored] | StoreError) -> None:
        """Report that envelopes of a store were read, or the error.

        The store's thread calls this method.
        """
        self._loop.call_soon_threadsafe(self._read, token, found, store)

    def _read(self, token: Hashable, found: list[Stored] | StoreError, store: str = "") -> None:
        if isinstance(found, StoreError):
            self._store_failed(found)
        if isinstance(token, int):
            self._call(partial(self.core.fetched, token, found, store=store), "a read from its store")
        self._commit_ended.set()  # after a failure, nothing waits for it
        self.idle()

    def _store_failed(self, error: StoreError) -> None:
        # A broken disk cannot be trusted: stop, and start again from its content. A failed commit may have
        # been written, even if this process is fenced off: perhaps only the answer was lost. So clients that
        # wait get no answer here; the next process recognizes stored messages.
        self._has_failed = True
        self.give_up(MeshError(f"{error.what} {error.hint}".strip(), code=error.code))

    def request_state(self, answer: Future[SeenNode]) -> None:
        """Fill `answer` with the monitored state of the node, on the loop; `None` after the core has ended.

        Any thread may call this method.
        """
        self._loop.call_soon_threadsafe(self._fill_state, answer)

    def _fill_state(self, answer: Future[SeenNode]) -> None:
        if answer.set_running_or_notify_cancel():
            answer.set_result(self._call(partial(seen, self.core), "a request for its state"))
            self.idle()

    # --- timers and turns ---------------------------------------------------------------------------------

    def _clock(self) -> tuple[float, int]:
        return time.monotonic(), time.time_ns()

    def _tick(self) -> None:
        self._timer = None
        now = time.monotonic()
        late = now - self._due
        self.lag.note(late, now)
        if late > LATE:
            # Input that arrived meanwhile is read before a peer counts as silent or a request as expired.
            self._call(lambda now, _: self.core.lagged(late, now), "a pause")
            self._loop.call_soon(self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self._call(self.core.tick, "a tick")
        for kind, text in self.damper.take_suppressed(time.monotonic()):
            self._call(partial(self.core.report_event, kind, text, level="warning"), "an event")
        self.idle()

    def idle(self) -> None:
        """Schedule the effects, once for all events of this turn of the loop."""
        if not self._turn_planned:
            self._turn_planned = True
            self._loop.call_soon(self._turn)

    def heard_all(self) -> None:
        """Carry out the effects now after a lone message; otherwise schedule them once for the whole turn."""
        if len(self._turn_messages) > 1:
            self.idle()
        else:
            self._turn()

    def settle(self) -> None:
        """Carry out the effects now, for a caller outside the core that has all events of the turn."""
        self._turn()

    def _turn(self) -> None:
        self._turn_planned = False
        if self._is_over:
            return
        try:
            carry_out = self.world.carry_out
            for effect in self.core.take_effects():
                carry_out(effect)
        except Exception as error:
            self._fail(error, "the end of a turn", self._turn_messages)
            return
        self._turn_messages.clear()
        if self._timer is None or self.core.alarm < self._due:
            if self._timer is not None:
                self._timer.cancel()
            self._due = max(self.core.alarm, time.monotonic())
            self._timer = self._loop.call_at(self._due, self._tick)

    # --- a core that fails ----------------------------------------------------------------------------------

    def _call(self, happens: Callable[..., Any], what: str, messages: Sequence[list[bytes]] = ()) -> Any:
        if self._is_over:
            return None
        self._turn_messages.append(NO_MESSAGE)
        try:
            return happens(*self._clock())
        except Exception as error:
            self._fail(error, what, messages)

    def _fail(self, error: Exception, what: str, messages: Sequence[list[bytes]]) -> MeshError:
        """End the node after an exception of the core, and record `messages` as the possible cause."""
        if isinstance(error, MemoryError):
            raise error  # nothing works without memory: see mesh.shell.memory
        self.close()
        self._has_failed = True
        self._commit_ended.set()
        why = failure(error, what)
        self.give_up(why)
        said = [message for message in messages if message]
        self._poison.blame(said, len(messages) == 1, str(why))
        self.world.last_words(FAILED, str(why))
        return why

    def _may_hear(self, key: Hashable, frames: list[bytes]) -> bool:
        """Return whether the core may read a message now.

        A message that made the core fail before, or may have, is handled here instead.
        """
        if self._is_over:
            return False
        verdict = self._poison.verdict(frames)
        if verdict is Guilt.GUILTY:
            if who := self._call(partial(self.core.poisoned, key), "a known message"):
                self.report_event(
                    "poisoned",
                    f"{who} sent the message at which this node failed; its connection is closed",
                    "warning",
                )
        elif verdict is Guilt.SUSPECT:
            self._turn()
            self._call(partial(self.core.receive, key, frames), "a message", [frames])
            self._turn_messages = [frames]
            self._turn()
            if not self._is_over:
                self._poison.acquit(frames)
        return verdict is Guilt.CLEAN
