"""What drives a core? The loop: it tells the core what happens and when, and has carried out what follows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from discovery.state import Sample
from mesh.core.desk.part import Reloaded, no_file
from mesh.core.node import NodeCore
from mesh.errors import MeshError, Refused, StoreError, StoreFull
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

DAMPED = ("refused", "advert", "poisoned")  # kinds of which strangers could have us tell as many as they like
FAILED = "failed"  # kind of the event
NO_MESSAGE: list[bytes] = []  # something else has happened in a turn
LATE = 0.25  # s: a loop that comes so late to its work has been stopped or starved


class Driver:
    """The clock and the turns of one core, until it is over.

    `open_world` is given the driver, which its sockets and its disk call once the loop runs again;
    `make_core` that world, since a core begins with the addresses that were bound.
    """

    # Law: whatever a core raises has perhaps left half a change behind. It is not called again, nothing that
    #      it still wanted is carried out, and the node ends.

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
        self.why: MeshError | None = None  # it has stopped, if not by `stop`
        self._loop = loop
        self._poison = poison
        self._is_wary = not poison.is_empty  # each message is looked at before the core reads it
        self._turn_messages: list[list[bytes]] = []  # that have come since effects were carried out
        self._is_over = False
        self._has_failed = False  # the store, or the core
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
        """Take up what the stores hold, "" the node's own. See NodeCore.start; CoreFailed when that fails."""
        others = {store: image for store, image in images.items() if store}
        try:
            with uncollected():
                self.core.start(images[""], *self._clock(), process, sample, reach, others, reload, is_tight)
        except MeshError:
            raise  # what the store holds cannot be taken up, and this says why
        except Exception as error:
            raise self._fail(error, "its start", ()) from error
        self.world.begin()
        if self._poison.why:
            self.tell(FAILED, f"started again: {self._poison.why}", "warning")
            self._poison.told()
        self.idle()

    def stop(self) -> None:
        """Have the node end."""
        self.stopping.set()

    def give_up(self, why: MeshError) -> None:
        """The same, and for a reason that people should know."""
        self.why = why
        self.stop()

    async def all_stored(self) -> None:
        """Until no commit is under way that somebody waits for."""
        while not self._has_failed and self.core.parts.disks.storing:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def goodbye(self) -> None:
        """Leave on purpose: what the core says then is the last."""
        self._call(self.core.goodbye, "its goodbye")
        self._turn()

    def close(self) -> None:
        """From now on nothing comes of what happens."""
        self._is_over = self._is_wary = True
        if self._timer is not None:
            self._timer.cancel()

    # --- what happens on connections --------------------------------------------------------------------

    def came(self, key: Hashable, endpoint: str, trusted: bool, user: str) -> None:
        self._call(lambda *_: self.core.accept(key, endpoint, trusted, user), "a connection's coming")

    def received(self, key: Hashable, frames: list[bytes]) -> None:
        if self._is_wary and not self._may_hear(key, frames):
            return
        self._turn_messages.append(frames)
        try:
            self.core.receive(key, frames, *self._clock())
        except Exception as error:
            self._fail(error, "a message", [frames])

    def came_within(self, program: Program) -> None:
        """The program of this process comes as a client."""
        ipc = self.world.bound.ipc
        self._call(lambda *_: self.core.accept(program, ipc, True, within=True), "a connection's coming")

    def told(self, program: Program, command: Command, envelopes: Sequence[Envelope]) -> None:
        # Not among the messages that may be to blame: no other process will hear it.
        self._call(partial(self.core.told, program, command, envelopes), "what its own program says")

    def gone(self, key: Hashable) -> None:
        self._call(partial(self.core.disconnected, key), "a connection's end")

    def heard(self, frames: list[bytes]) -> None:
        if not self._is_wary or self._poison.verdict(frames) is not Guilt.GUILTY:
            self._call(partial(self.core.gossiped, frames), "gossip", [frames])

    def failed(self, key: Hashable, error: Refused) -> None:
        if not self._call(partial(self.core.failed, key, error.what, error.hint), "a failed dial"):
            self.stranger(error.what)

    def reload(self, by: str) -> None:
        """Have the configuration read again, as somebody wants, such as by a signal."""
        self._call(partial(self.core.reload, by=by), "a reload")

    def nowhere(self, conn: Hashable, why: str) -> None:
        """Tell the core that what was to be dialled has no address."""
        self._call(partial(self.core.failed, conn, why, ""), "a failed dial")
        self.gone(conn)
        self.idle()

    def stranger(self, text: str) -> None:
        self.tell("refused", text, "warning")

    def left(self) -> None:
        self._call(self.core.left, "a connection's end")
        self.idle()

    def knocked(self, uuid: bytes, refused: bool) -> None:
        """Tell the core what the operating system at a node's address said."""
        self._call(partial(self.core.knocked, uuid, refused), "a knock")
        self.idle()

    # --- what is found, and told --------------------------------------------------------------------------

    def advertised(self, node: Introduction) -> None:
        """Multicast DNS tells of another node."""
        self._call(partial(self.core.advertised, node), "an advert")
        self.idle()

    def near(self, name: str, address: str) -> None:
        """Multicast DNS tells of another mesh."""
        self._call(partial(self.core.near, name, address), "an advert")
        self.idle()

    def readdressed(self, there: tuple[str, ...]) -> None:
        """This machine has other addresses now."""
        self._call(partial(self.core.readdressed, there[0], there[1:]), "a change of address")
        self.idle()

    def tell(self, kind: str, text: str, level: str = "info") -> None:
        """Something happened here that people may want to read about."""
        if kind == "advert":
            self.core.parts.desk.count("adverts_rejected")
        if kind in DAMPED and not self.damper.is_news(kind, text, time.monotonic()):
            return
        self._call(partial(self.core.tell, kind, text, level=level), "an event")
        self.idle()

    # --- the disk -----------------------------------------------------------------------------------------

    def committed(self, store: str, tokens: list[Hashable], error: StoreError | None) -> None:
        """Commits to that store have ended. Called in its thread."""
        self._loop.call_soon_threadsafe(self._stored, tokens, error, store)

    def _stored(self, tokens: list[Hashable], error: StoreError | None, store: str = "") -> None:
        if error is not None and not isinstance(error, StoreFull):
            self._store_failed(error)
        else:
            for token in tokens:
                if isinstance(token, int):
                    self._call(partial(self.core.stored, token, error, store=store), "the end of a commit")
        self._commit_ended.set()
        self.settle()  # whoever waits for it has waited for the disk

    def fetched(self, store: str, token: Hashable, found: list[Stored] | StoreError) -> None:
        """Envelopes of that store were read, or could not be. Called in its thread."""
        self._loop.call_soon_threadsafe(self._read, token, found, store)

    def _read(self, token: Hashable, found: list[Stored] | StoreError, store: str = "") -> None:
        if isinstance(found, StoreError):
            self._store_failed(found)
        if isinstance(token, int):
            self._call(partial(self.core.fetched, token, found, store=store), "what was read")
        self._commit_ended.set()  # if it has failed, nobody waits for it any more
        self.idle()

    def _store_failed(self, error: StoreError) -> None:
        # What a broken disk still says cannot be trusted: stop, and start again from what it holds.
        # Nobody knows what a failed commit has written, also of one who is fenced off: an earlier try
        # may have been carried out, and only the answer lost. So whoever waits for an answer gets none
        # here, and the next process recognises what is there.
        self._has_failed = True
        self.give_up(MeshError(f"{error.what} {error.hint}".strip(), code=error.code))

    def ask(self, answer: Future[SeenNode]) -> None:
        """Fill it, from this loop, with what those who watch the node are told. Any thread may call it."""
        self._loop.call_soon_threadsafe(self._asked, answer)

    def _asked(self, answer: Future[SeenNode]) -> None:
        if answer.set_running_or_notify_cancel():
            answer.set_result(self._call(partial(seen, self.core), "what watches it"))
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
            self._call(lambda *_: self.core.lagged(late), "a pause")
            self._loop.call_soon(self._tick_now)
        else:
            self._tick_now()

    def _tick_now(self) -> None:
        self._call(self.core.tick, "a tick")
        for kind, text in self.damper.over(time.monotonic()):
            self._call(partial(self.core.tell, kind, text, level="warning"), "an event")
        self.idle()

    def idle(self) -> None:
        """Carry out what the core wants, once for all that this turn of the loop brings."""
        if not self._turn_planned:
            self._turn_planned = True
            self._loop.call_soon(self._turn)

    def heard_all(self) -> None:
        """A socket has no more for now: what came alone is carried out at once, and much once a turn."""
        if len(self._turn_messages) > 1:
            self.idle()
        else:
            self._turn()

    def settle(self) -> None:
        """Carry it out at once, for who has all that this turn brings, and is not called by the core."""
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
        """Let the core know what happens now, unless it is over."""
        if self._is_over:
            return None
        self._turn_messages.append(NO_MESSAGE)
        try:
            return happens(*self._clock())
        except Exception as error:
            self._fail(error, what, messages)

    def _fail(self, error: Exception, what: str, messages: Sequence[list[bytes]]) -> MeshError:
        """The core has raised that, over one of these messages: end, and let those who come later know."""
        if isinstance(error, MemoryError):
            raise error  # nothing more can be done: see mesh.shell.memory
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
        """May the core read that, with the others of this turn? Else it is done with here."""
        if self._is_over:
            return False
        verdict = self._poison.verdict(frames)
        if verdict is Guilt.GUILTY:
            if who := self._call(partial(self.core.poisoned, key), "a known message"):
                self.tell(
                    "poisoned", f"{who} sent what this node failed over: its connection is closed", "warning"
                )
        elif verdict is Guilt.SUSPECT:
            self._turn()
            self._call(partial(self.core.receive, key, frames), "a message", [frames])
            self._turn_messages = [frames]
            self._turn()
            if not self._is_over:
                self._poison.acquit(frames)
        return verdict is Guilt.CLEAN
