"""What does somebody get who takes from a queue, and what can he say of it?"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, Protocol, Self, overload

from msgspec import UNSET

from mesh.client.arguments import seconds
from mesh.client.core.desk import Promise
from mesh.client.core.lots import ACK, SAID, Some, TakenLot
from mesh.client.core.taking import QueueTaking
from mesh.client.message import Message, T, TypedMessage
from mesh.client.reading import WHATEVER, ContentReader
from mesh.client.shell import Shell
from mesh.errors import BadArgument, LeaseOver, MeshError, shown
from mesh.values import check_text
from mesh.wire.commands import EXTEND, NACK, REJECT
from mesh.wire.limits import REASON

LONGEST = 2**32 - 1  # ms that can be said


def milliseconds(name: str, value: Any, *, zero: bool = False) -> int:
    """Seconds as ms that can be said, at least 1 if it is not 0. BadArgument."""
    ms = seconds(name, value, zero=zero) * 1000
    if ms > LONGEST:
        raise BadArgument(
            f"{name}={shown(value)} cannot be.", hint=f"At most {LONGEST // 1000:,} s (49 days)."
        )
    return -int(-ms // 1)


class SettlingClient(Protocol):
    """The client that waits as long as it was told to. It is not closed while somebody has this of it."""

    async def _within(
        self, timeout: float | None, work: Callable[[Promise], Coroutine[Any, Any, None]], promise: Promise, /
    ) -> None: ...


class Hands:
    """The side of the consumer of a message: what is said of it goes here. `once`: it was for this one."""

    __slots__ = ("_client", "_shell", "once", "taking")
    taking: QueueTaking
    once: bool

    def __init__(self, client: SettlingClient, shell: Shell, taking: QueueTaking, once: bool = False) -> None:
        self._client, self._shell = client, shell
        self.taking, self.once = taking, once

    async def settle(self, what: int, of: Sequence[Some], delay: int = 0, reason: str = "") -> None:
        """Have it said of those that are this consumer's, until the node has written it down.

        LocalError SETTLED, and then it is said of none; LeaseOver for those that are not; Closed.
        """
        promise, late = self._say(what, of, delay, reason)
        if promise is not None:
            await self._client._within(None, kept, promise)
        if late is not None:
            raise late

    def _say(
        self, what: int, of: Sequence[Some], delay: int = 0, reason: str = ""
    ) -> tuple[Promise | None, LeaseOver | None]:
        core, late = self._shell.now(), None
        some: list[Some] = []
        for lot, places in of:
            ours = []
            for place in places:
                try:
                    self.taking.check(lot, place)
                    ours.append(place)
                except LeaseOver as error:
                    late = error
            if ours:
                some.append((lot, ours))
        if not some:
            return None, late
        promise = self.taking.say(what, some, delay, reason)
        if self.once and what != EXTEND:
            core.queues.leave(self.taking)
        return promise, late

    async def left(self, of: Sequence[Some], error: BaseException | None) -> None:
        """Their user is through with them: what he said nothing of is done or, by an error, to be given
        again. That goes, but nobody waits for it."""
        left = [(lot, places) for lot, all_ in of if (places := [p for p in all_ if lot.states[p] != SAID])]
        if error is None and left:
            await self.settle(ACK, left)
        elif left:
            with suppress(MeshError):  # what has happened is worse
                self._say(NACK, left)


async def kept(promise: Promise) -> None:
    """Until it is."""
    await promise


class QueuedMessage(TypedMessage[T]):
    """A message of a queue; else as any other."""

    _tries: int = 0

    @property
    def attempt(self) -> int:
        """How often it was given to somebody, this time included: 1, 2, ..."""
        return self._tries + 1

    @property
    def redelivered(self) -> bool:
        """Was it given to somebody before? Then it may have been done."""
        return self._tries > 0

    @property
    def group(self) -> str:
        """What it belongs to: all of a group goes to one consumer. "": nothing."""
        put = self._envelope.put
        return put[2] if put else ""

    @property
    def priority(self) -> int:
        """0 (lowest) to 9."""
        put = self._envelope.put
        return put[0] if put else 5

    def __repr__(self) -> str:
        key = f"{self.key!r}, " if self.key else ""
        return f"{type(self).__name__}({key}{self.content[:40]!r}, attempt={self.attempt}, id={self.id!r})"


class Delivery(QueuedMessage[T]):
    """A message that was taken from a queue, until it is settled: acked, nacked or rejected, once.

    A context manager: `async with job:` acks in the end and, by an exception, nacks. Each of the four waits
    until the node has written it down. They raise LocalError SETTLED the second time, and LeaseOver when the
    message is not this consumer's any more.
    """

    # Set where it is made: a Struct's own fields have defaults from here on.
    _hands: Hands | None = None
    _lot: TakenLot | None = None
    _place: int = 0

    @property
    def _of(self) -> list[Some]:
        assert self._lot is not None
        return [(self._lot, (self._place,))]

    @property
    def _at(self) -> Hands:
        assert self._hands is not None
        return self._hands

    async def ack(self) -> None:
        """It is done: nobody is given it again."""
        await self._at.settle(ACK, self._of)

    async def nack(self, *, delay: float = 0.0) -> None:
        """It is not done: it is given out again, after `delay` seconds at the earliest."""
        await self._at.settle(NACK, self._of, milliseconds("delay", delay, zero=True))

    async def reject(self, reason: str = "") -> None:
        """It cannot be done: it is a dead letter. `reason`: why, in up to 200 characters."""
        check_text(reason, "reason", REASON, BadArgument)
        await self._at.settle(REJECT, self._of, reason=reason)

    async def extend(self, seconds: float) -> None:
        """It takes longer: its lease ends so many seconds from now."""
        await self._at.settle(EXTEND, self._of, milliseconds("seconds", seconds))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._at.left(self._of, error)


def made_of(
    message: Message[Any], lot: TakenLot, place: int, hands: Hands, reader: ContentReader | None
) -> Delivery[Any]:
    """The delivery for who takes it."""
    m, tries = message, lot.tries[place] if lot.tries else 0
    return Delivery(
        m._envelope, m._index, m.key, m.content, reader or WHATEVER, UNSET, tries, hands, lot, place
    )


class Deliveries(Sequence[Delivery[T]], Generic[T]):
    """Messages of a queue that came together, to be settled one by one or all at once.

    A context manager: in the end it acks what was not settled by then and, by an exception, nacks it.
    """

    def __init__(
        self, lot: TakenLot, places: Sequence[int], hands: Hands, reader: ContentReader | None
    ) -> None:
        self._lot, self._places = lot, places
        self._hands, self._reader = hands, reader

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, i: int) -> Delivery[T]: ...
    @overload
    def __getitem__(self, i: slice) -> list[Delivery[T]]: ...
    def __getitem__(self, i: int | slice) -> Delivery[T] | list[Delivery[T]]:
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        place = self._places[i]
        return made_of(self._lot.batch[place], self._lot, place, self._hands, self._reader)

    def __iter__(self) -> Iterator[Delivery[T]]:
        lot = self._lot
        if len(self) < len(lot):
            return (self[i] for i in range(len(self)))
        return (made_of(m, lot, i, self._hands, self._reader) for i, m in enumerate(lot.batch))

    def contents(self) -> list[bytes]:
        """The content of each."""
        if len(self) == len(self._lot):
            return self._lot.batch.contents()
        e, indices = self._lot.batch._envelope, self._lot.batch._indices
        return [e.message(place if indices is None else indices[place])[1] for place in self._places]

    async def ack(self) -> None:
        """All that are not settled yet are done. The errors are those of a Delivery."""
        await self._hands.settle(ACK, self._rest())

    async def nack(self, *, delay: float = 0.0) -> None:
        """All that are not settled yet are given out again, after `delay` seconds at the earliest."""
        await self._hands.settle(NACK, self._rest(), milliseconds("delay", delay, zero=True))

    def _rest(self) -> list[Some]:
        """Those that are not settled yet; all of them if there is none, for which there is an error."""
        rest = [place for place in self._places if self._lot.states[place] != SAID]
        return [(self._lot, rest or self._places)]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._hands.left([(self._lot, self._places)], error)
