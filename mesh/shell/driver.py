"""Drives a core: calls the core for each event of the loop, and carries out the core's effects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from mesh.discovery.state import Sample
from mesh.errors import MeshError, Refused
from mesh.kernel.context.component import Reloaded, no_file
from mesh.kernel.node import NodeCore
from mesh.operations import Image, StoreReach
from mesh.shell.failing import failure
from mesh.shell.lag import Lag
from mesh.shell.memory import uncollected
from mesh.shell.poison import Guilt, Poison
from mesh.shell.program import Program
from mesh.shell.seen import SeenNode, seen
from mesh.shell.shell_events import ShellEvents
from mesh.shell.store_results import StoreResults
from mesh.shell.world import World
from mesh.wire.commands import Command
from mesh.wire.envelope import Envelope
from mesh.wire.replies import Process

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
        self.stopping = asyncio.Event()
        self.why: MeshError | None = None  # why it stopped, if not by `stop`
        self._loop = loop
        self._poison = poison
        self._is_wary = not poison.is_empty  # check each message before the core reads it
        self._turn_messages: list[list[bytes]] = []  # messages since effects were carried out
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        self._turn_planned = False
        self.stores = StoreResults(loop, self)
        self.events = ShellEvents(self)
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
            self.events.report_event(FAILED, f"restarted after a failure: {self._poison.why}", "warning")
            self._poison.mark_reported()
        self.idle()

    def stop(self) -> None:
        self.stopping.set()

    def give_up(self, why: MeshError) -> None:
        """Stop the node, and let `NodeRuntime.run` raise `why`."""
        self.why = why
        self.stop()

    def goodbye(self) -> None:
        """Send the core's goodbye messages.

        Nothing is sent afterwards.
        """
        self.call(self.core.goodbye, "its goodbye")
        self._turn()

    def close(self) -> None:
        """Ignore all later events."""
        self._is_over = self._is_wary = True
        if self._timer is not None:
            self._timer.cancel()

    # --- connection events ------------------------------------------------------------------------------

    def on_connected(self, key: Hashable, endpoint: str, trusted: bool, user: str) -> None:
        self.call(lambda *_: self.core.add_inbound(key, endpoint, trusted, user), "a new connection")

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
        self.call(lambda *_: self.core.add_inbound(program, ipc, True, within=True), "a new connection")

    def on_command(self, program: Program, command: Command, envelopes: Sequence[Envelope]) -> None:
        # Not among the suspect messages: another process would not receive it.
        self.call(partial(self.core.on_command, program, command, envelopes), "a command of its own program")

    def on_disconnected(self, key: Hashable) -> None:
        self.call(partial(self.core.disconnected, key), "a connection's end")

    def on_gossip(self, frames: list[bytes]) -> None:
        if not self._is_wary or self._poison.verdict(frames) is not Guilt.GUILTY:
            self.call(partial(self.core.gossiped, frames), "gossip", [frames])

    def on_dial_failed(self, key: Hashable, error: Refused) -> None:
        if not self.call(partial(self.core.on_dial_failed, key, error.what, error.hint), "a failed dial"):
            self.events.stranger(error.what)

    def reload(self, by: str) -> None:
        """Reload the configuration, as requested by `by`, such as a signal."""
        self.call(partial(self.core.reload, by=by), "a reload")

    def nowhere(self, conn: Hashable, why: str) -> None:
        """Report to the core that the name of a dialed address cannot be resolved."""
        self.call(partial(self.core.on_dial_failed, conn, why, ""), "a failed dial")
        self.on_disconnected(conn)
        self.idle()

    def on_inbound_closed(self) -> None:
        self.call(self.core.on_inbound_closed, "a connection's end")
        self.idle()

    def knocked(self, uuid: bytes, refused: bool) -> None:
        """Report to the core whether the operating system at a node's address refused a connection."""
        self.call(partial(self.core.knocked, uuid, refused), "a knock")
        self.idle()

    def backup_ended(self) -> None:
        """Report to the core that a copy of the stores has ended."""
        self.call(self.core.backup_ended, "the end of a backup")
        self.idle()

    # --- monitoring ---------------------------------------------------------------------------------------

    def request_state(self, answer: Future[SeenNode]) -> None:
        """Fill `answer` with the monitored state of the node, on the loop; `None` after the core has ended.

        Any thread may call this method.
        """
        self._loop.call_soon_threadsafe(self._fill_state, answer)

    def _fill_state(self, answer: Future[SeenNode]) -> None:
        if answer.set_running_or_notify_cancel():
            answer.set_result(self.call(partial(seen, self.core), "a request for its state"))
            self.idle()

    # --- timers and turns ---------------------------------------------------------------------------------

    def call(self, happens: Callable[..., Any], what: str, messages: Sequence[list[bytes]] = ()) -> Any:
        """Call a method of the core with the time, unless the core has ended, and return its result.

        `what` names the event in the report of a failure, and `messages` are its possible cause.
        """
        if self._is_over:
            return None
        self._turn_messages.append(NO_MESSAGE)
        try:
            return happens(*self._clock())
        except Exception as error:
            self._fail(error, what, messages)

    def _clock(self) -> tuple[float, int]:
        return time.monotonic(), time.time_ns()

    def _tick(self) -> None:
        self._timer = None
        now = time.monotonic()
        late = now - self._due
        self.lag.record_lateness(late, now)
        if late > LATE:
            # Input that arrived meanwhile is read before a peer counts as silent or a request as expired.
            self.call(lambda now, _: self.core.lagged(late, now), "a pause")
            self._loop.call_soon(self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self.call(self.core.tick, "a tick")
        self.events.report_suppressed()
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

    def _fail(self, error: Exception, what: str, messages: Sequence[list[bytes]]) -> MeshError:
        """End the node after an exception of the core, and record `messages` as the possible cause."""
        if isinstance(error, MemoryError):
            raise error  # nothing works without memory: see mesh.shell.memory
        self.close()
        self.stores.abandon()
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
            if who := self.call(partial(self.core.poisoned, key), "a known message"):
                self.events.report_event(
                    "poisoned",
                    f"{who} sent the message at which this node failed; its connection is closed",
                    "warning",
                )
        elif verdict is Guilt.SUSPECT:
            self._turn()
            self.call(partial(self.core.receive, key, frames), "a message", [frames])
            self._turn_messages = [frames]
            self._turn()
            if not self._is_over:
                self._poison.acquit(frames)
        return verdict is Guilt.CLEAN
