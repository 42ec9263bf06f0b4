"""A client that uses maps, counters, tallies and locks by the calls of users, and records the results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from mesh.client.codecs import codec_of
from mesh.errors import MeshError
from mesh.features.spaces.client.leases import Use
from mesh.features.spaces.client.lock import Lock
from mesh.features.spaces.client.map import Map
from mesh.features.spaces.client.spacing import Spacing
from mesh.wire.calls import AskSpaceMove
from mesh.wire.replies import SpaceMoved
from tools.simulator.clients.program import Program, new_program
from tools.simulator.clients.witness import Witness

PATIENCE = 10.0  # s for each attempt of a call
MOVE = 20.0  # s

Result = tuple[str, int, str]  # code, version or number, content


class Desk(Spacing):
    """The calls of a simulated client for maps, counters, locks and tallies, without a shell."""

    def __init__(self, client: Witness, program: Program) -> None:
        self._codec, self._patience, self._key = codec_of("json"), None, client.key
        self._core = client.core
        shell: Any = SimulatedShell(client, program)
        self._shell = shell


class SimulatedShell:
    """The clocks of a simulated client."""

    def __init__(self, client: Witness, program: Program) -> None:
        self._client = client
        self.timeout, self.steady = asyncio.timeout, program.time

    def wall(self) -> int:
        return self._client.net.wall

    def now(self) -> Any:
        """Return the core with its present time, and let it run in a moment."""
        self._client.core.context.now = self._client.net.now
        self._client.net.after(0.0, self._client.post_waiting)
        return self._client.core


@dataclass(eq=False)
class Held:
    """A lock that a client believes to have, until `is_over`."""

    number: int
    lock: Lock
    use: Use
    is_over: bool = False


class Sharer:
    """A program of a client. `numbers` numbers the calls of all clients.

    Its events: `op` and `op said` for each call, `held` and `held over` for the time for which it believes to
    have a lock, by its own clock.
    """

    def __init__(self, client: Witness, drift: float, numbers: Iterator[int]) -> None:
        self.client, self._numbers = client, numbers
        self.program = new_program(client.net, drift)
        self._rate = 1 + drift
        self._desk = Desk(client, self.program)
        self._seen: dict[tuple[str, str], int] = {}  # versions by space and key
        self._held: list[Held] = []
        self._hurries = asyncio.Event()
        self._open: dict[int, tuple[str, str, str]] = {}  # calls without an answer

    @property
    def is_through(self) -> bool:
        return not self._open and not self._held

    def hurry(self) -> None:
        """Release all locks soon, and end a pause."""
        self._hurries.set()
        self.program.wake()

    def end(self) -> None:
        """End the program, with what it believes."""
        for held in list(self._held):
            self._let_go(held)
        self._open.clear()
        self.program.end()

    def last_words(self) -> None:
        """Record the calls without an answer at the end of the run."""
        for number, (space, key, word) in self._open.items():
            self.client.event("op open", domain=space, keys=(key,), first=number, text=word)

    # --- calls --------------------------------------------------------------------------------------------

    def use_map(self, name: str, key: str, word: str, wants: str) -> None:
        """Put, get or remove a value. With `wants` only if it has the version that was seen last."""
        space, number = f"map/{name}", next(self._numbers)
        seen = self._seen.get((space, key), 0)
        expected = seen if wants and (seen or word == "put") else -1
        content, handle = f"{self.client.name} {number}", self._desk.map(name)
        kind = "put_if" if word == "put" and expected >= 0 else word
        call = partial(self._map, handle, kind, key, content, expected)
        self._begin(number, space, key, kind, call, expected, content if word == "put" else "")

    async def _map(self, handle: Map[Any], word: str, key: str, content: str, expected: int) -> Result:
        name = f"map/{handle.name}", key
        match word:
            case "put":
                version: int | None = await handle.put(key, content, timeout=PATIENCE)
            case "put_if":
                version = await handle.put_if(key, content, version=expected, timeout=PATIENCE)
            case "remove":
                wanted = expected if expected >= 0 else None
                return "OK" if await handle.remove(key, version=wanted, timeout=PATIENCE) else "NOT", 0, ""
            case _:
                entry = await handle.get(key, timeout=PATIENCE)
                self._seen[name] = entry.version if entry is not None else 0
                return "OK", self._seen[name], entry.value if entry is not None else ""
        if version is None:
            return "NOT", 0, ""
        self._seen[name] = version
        return "OK", version, content

    def use_counter(self, group: str, name: str, word: str, amount: int) -> None:
        handle = self._desk.counter(name, group=group)

        async def call() -> Result:
            if word == "add":
                return "OK", await handle.add(amount, timeout=PATIENCE), ""
            return "OK", await handle.value(timeout=PATIENCE), ""

        self._begin(next(self._numbers), f"counter/{group}", name, word, call, amount)

    def use_tally(self, name: str, word: str, amount: int) -> None:
        handle = self._desk.tally(name)

        async def call() -> Result:
            if word == "add":
                await handle.add(amount, timeout=PATIENCE)
                return "OK", amount, ""
            found = await handle.value(timeout=PATIENCE)
            return "OK", found.value, " ".join(found.missing)

        self._begin(next(self._numbers), f"tally/{name}", name, word, call, amount)

    def move_space(self, space: str, to: str, force: str) -> None:
        """Move a space; with `force`, its home is lost, and the loss is accepted."""
        kind, _, rest = space.partition("/")
        ask = AskSpaceMove(space=space, to=to, force=bool(force), accept_loss=bool(force))
        handle = self._desk.lock("any", group=rest)._client._leases_of(space)

        async def call() -> Result:
            await handle._ask(ask, SpaceMoved, MOVE)
            return "OK", 0, ""

        self._begin(next(self._numbers), space, kind, force or "move", call, content=to)

    def _begin(
        self,
        number: int,
        space: str,
        key: str,
        word: str,
        call: Callable[[], Awaitable[Result]],
        expected: int = 0,
        content: str = "",
    ) -> None:
        self._open[number] = space, key, word
        what: dict[str, Any] = {"domain": space, "keys": (key,), "first": number, "text": word}
        self.client.event("op", **what, stamp=expected, to=content)
        self._spawn(self._answered(number, what, call))

    async def _answered(
        self, number: int, what: dict[str, Any], call: Callable[[], Awaitable[Result]]
    ) -> None:
        try:
            code, version, content = await call()
        except MeshError as error:
            code, version, content = error.code, 0, ""
        if self._open.pop(number, None) is not None:
            self.client.history.met(f"{what['text']} of a {what['domain'].partition('/')[0]}: {code}")
            self.client.event("op said", **what | {"text": code}, stamp=version, to=content)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        self.program.create_task(work)

    # --- locks --------------------------------------------------------------------------------------------

    def hold(self, group: str, name: str, lease: float, wait: float, seconds: float) -> None:
        """Wait for a lock, at most `wait` s if this is not negative, and hold it for a time."""
        lock = self._desk.lock(name, lease=lease, wait=None if wait < 0 else wait, group=group)
        number = next(self._numbers)

        async def call() -> Result:
            async with lock:
                held = self._take(number, f"lock/{group}", name, lock)
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._hurries.wait()
                self._let_go(held)
            return "OK", 0, ""

        self._begin(number, f"lock/{group}", name, "lock", call)

    def _take(self, number: int, space: str, name: str, lock: Lock) -> Held:
        assert lock._use is not None
        held = Held(number, lock, lock._use)
        self._held.append(held)
        self.client.event("held", domain=space, keys=(name,), first=number, stamp=lock.token)
        held.use.on_lost = partial(self._let_go, held)
        self._watch(held)
        return held

    def _watch(self, held: Held) -> None:
        """Let go of a lock at the moment at which it is lost by the client's clock."""
        if held.is_over:
            return
        if held.lock.lost:
            self.client.history.met("a lock was lost")
            self._let_go(held)
        else:
            net = self.client.net  # the clock of the client may be a rounding error before the end
            net.at(max(held.use.ends / self._rate, net.now + 1e-6), partial(self._watch, held))

    def _let_go(self, held: Held) -> None:
        if not held.is_over:
            held.is_over = True
            self._held.remove(held)
            self.client.event("held over", first=held.number)
