"""The leases of a client's locks in one space: requests, renewals and releases."""

# Law 1: a lease ends at OF_LEASE of its length after the sending of the last answered question. Its home
#        counts from a later time, so it still holds the lock for this client then.
# Law 2: a use that has ended is never granted later: its release has its number, whichever answer was lost.

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mesh.errors import Closed, LocalError, MeshError
from mesh.features.spaces.client.space import Space
from mesh.features.spaces.lock_proof import ask_text, release_text, renew_text
from mesh.wire.calls import AskLock, AskLockRelease, AskLockRenew
from mesh.wire.calls.locks import RENEWED
from mesh.wire.replies import LockAnswer, LocksRenewed, ReplyValue

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing

OF_LEASE = 0.9  # clock rates differ by less than 10 %
THIRD = 1 / 3  # of a lease, after which it is renewed
POLLS = 64  # requests whose answers the home holds back; further ones ask again each third of a lease
PATIENCE = 30.0  # s for which a request is repeated without an answer
RELEASE = 2.0  # s that the end of a block waits for the answer to its release
NAMES = 128 * 1024  # bytes of names in one renewal
AWAY = ("NODE_AWAY", "NODES_AWAY", "NOT_HOME", "NO_LEASH", "TIMEOUT")  # repeated for PATIENCE s


@dataclass(slots=True, eq=False)
class Use:
    """A use of a lock by this client: a request, and then a lease."""

    ask: AskLock
    lease: float  # s
    on_lost: Callable[[], None]
    token: int = 0
    ends: float = 0.0
    renewal: float = 0.0  # time of the next renewal
    waiting: int = 0  # other clients that wait
    is_open: bool = False  # the home may know the request
    is_lost: bool = False
    is_over: bool = False  # its block has ended

    def begin_lease(self, sent: float) -> None:
        """Let the lease begin with the sending of a question that was answered (Law 1)."""
        self.ends = max(self.ends, sent + OF_LEASE * self.lease)
        self.renewal = sent + THIRD * self.lease


class Leases(Space):
    """The locks of a client in one space."""

    def __init__(self, client: Spacing, space: str) -> None:
        super().__init__(client, space)
        self._uses, self._counts = count(1), count(1)
        self._held: dict[int, Use] = {}
        self._polls = asyncio.Semaphore(POLLS)
        self._tasks: set[asyncio.Task[None]] = set()  # renewals and late releases
        self._changed = asyncio.Event()
        self._renewing: asyncio.Task[None] | None = None

    def now(self) -> float:
        """Return the time by a clock that goes on while this machine sleeps, in s."""
        return self._client._shell.steady()

    # --- requests ---------------------------------------------------------------------------------------

    async def acquire(
        self, key: str, lease: float, wait: float | None, on_lost: Callable[[], None], value: dict[str, Any]
    ) -> Use:
        """Wait for a lock, at most `wait` s, and begin to renew it. `value` has the fields of an election.

        Raises: LocalError LOCK_HELD, TOO_MANY_LOCKS, NODE_AWAY, NODES_AWAY.
        """
        client = self._client
        ask = AskLock(
            space=self._space, key=key, number=next(self._uses), count=1, lease=round(lease * 1000),
            can_wait=wait is None or wait > 0, client=str(client._core.line.name)[:255],
            writer=client._key.public, **value,
        )  # fmt: skip
        use = Use(ask, lease, on_lost)
        try:
            await self._granted(use, None if wait is None else self.now() + wait)
        except BaseException:
            if use.is_open:
                self._spawn(self._released(use, self.now() + lease))
            raise
        self._held[ask.number] = use
        self._changed.set()
        if self._renewing is None or self._renewing.done():
            self._renewing = self._spawn(self._renew_all())
        return use

    async def _granted(self, use: Use, end: float | None) -> None:
        """Repeat a request until it is granted with half of its lease left, or granted twice."""
        answered = self.now()
        while True:
            left = use.lease if end is None else max(0.0, end - self.now())
            was_granted = use.token > 0
            try:
                found = await self._requested(use, min(left, use.lease * THIRD))
            except MeshError as error:
                if error.code not in AWAY or self.now() >= answered + PATIENCE:
                    raise
                await self._pause()
                continue
            answered = self.now()
            if found and use.ends - answered > (0 if was_granted else use.lease / 2):
                return
            if not found and left == 0:
                raise _held(use.ask, use.waiting)

    async def _requested(self, use: Use, hold: float) -> bool:
        """Ask once, and return whether the lock is granted. `hold`: longest time until an answer."""
        if self._polls.locked():
            found = await self._asked(use, 0)
            if not found:
                await self._pause(hold)
            return found
        async with self._polls:
            return await self._asked(use, hold)

    async def _asked(self, use: Use, hold: float) -> bool:
        ask = replace(use.ask, count=next(self._counts), hold=round(hold * 1000))
        ask = replace(ask, signature=self._client._key.sign(ask_text(ask)))
        use.is_open, sent = True, self.now()
        found = await self._ask(ask, LockAnswer, hold + max(2.0, use.lease * THIRD))
        use.waiting = found.waiting
        if found.code:
            use.is_open = False
            raise _refused(ask, found)
        use.ask = replace(use.ask, since=found.since, ticket=found.ticket)
        if found.token:
            use.token = found.token
            use.begin_lease(sent)
        return found.token > 0

    # --- renewals ---------------------------------------------------------------------------------------

    async def _renew_all(self) -> None:
        """Renew leases while there are any."""
        while self._held:
            now = self.now()
            for use in [use for use in self._held.values() if use.ends <= now]:
                self._lose(use)
            due = [use for use in self._held.values() if use.renewal <= now]
            if due:
                await self._renew(next(_parts(due)))
            elif self._held:
                self._changed.clear()
                await self._wait(min(min(use.renewal, use.ends) for use in self._held.values()) - now)

    async def _renew(self, uses: list[Use]) -> None:
        """Renew leases in one question."""
        ask = AskLockRenew(
            space=self._space,
            held=[(use.ask.key, use.token) for use in uses],
            count=next(self._counts),
            writer=self._client._key.public,
        )
        ask = replace(ask, signature=self._client._key.sign(renew_text(ask)))
        sent = self.now()
        within = min(min(use.lease * THIRD, use.ends - sent) for use in uses)
        try:
            found = await self._ask(ask, LocksRenewed, max(0.1, within))
        except Closed:
            for use in list(self._held.values()):
                self._lose(use)
            return
        except MeshError:
            for use in uses:
                use.renewal = self.now() + min(1.0, use.lease / 10)
            return
        for use, waiting in zip(uses, found.waiting, strict=False):
            if waiting < 0:
                self._lose(use)
            else:
                use.waiting = waiting
                use.begin_lease(sent)

    def _lose(self, use: Use) -> None:
        if self._held.pop(use.ask.number, None) is not None:
            use.is_lost = True
            use.on_lost()

    # --- releases ---------------------------------------------------------------------------------------

    async def release(self, use: Use) -> None:
        """End a use. An unanswered release is repeated in the background until the lease has ended."""
        self._held.pop(use.ask.number, None)
        self._changed.set()
        releasing = self._spawn(self._released(use, self.now() + use.lease))
        with suppress(TimeoutError):
            async with self._client._shell.timeout(RELEASE):
                await asyncio.shield(releasing)

    async def _released(self, use: Use, until: float) -> None:
        ask = AskLockRelease(
            space=self._space, key=use.ask.key, number=use.ask.number, writer=self._client._key.public
        )
        ask = replace(ask, signature=self._client._key.sign(release_text(ask)))
        with suppress(Closed):
            while self.now() < until:
                try:
                    await self._ask(ask, ReplyValue, RELEASE)
                except Closed:
                    raise
                except MeshError:
                    await self._pause()
                else:
                    return

    # --- waiting ----------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _wait(self, seconds: float) -> None:
        """Wait for a time, or until locks are added or released."""
        with suppress(TimeoutError):
            async with self._client._shell.timeout(max(0.01, seconds)):
                await self._changed.wait()


def _parts(uses: Iterable[Use]) -> Iterator[list[Use]]:
    """Yield parts that fit into one renewal each."""
    part, size = list[Use](), 0
    for use in uses:
        size += len(use.ask.key.encode())
        if part and (size > NAMES or len(part) >= RENEWED):
            yield part
            part, size = [], len(use.ask.key.encode())
        part.append(use)
    yield part


def _held(ask: AskLock, waiting: int) -> LocalError:
    what = f"The lock {ask.key!r} is held by another client, and {waiting:,} wait before this one."
    return LocalError(what, hint=f"See `mesh lock who {ask.key}`.", code="LOCK_HELD")


def _refused(ask: AskLock, found: LockAnswer) -> LocalError:
    if found.code == "LOCK_HELD":
        return _held(ask, found.waiting)
    if found.code == "TOO_MANY_LOCKS":
        what = f"The home of the lock {ask.key!r} has too many locks or waiting clients."
        return LocalError(what, hint="See `mesh lock ls`, or use another group.", code=found.code)
    return LocalError(f"The request for the lock {ask.key!r} has ended.", code=found.code)
