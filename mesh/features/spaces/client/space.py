"""The writes and reads of a client, as questions to its node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from mesh.errors import BadArgument, LocalError
from mesh.features.spaces.model.definition import check_space
from mesh.features.spaces.proof import write_text
from mesh.wire.calls import (
    Ask,
    AskSpaceDeclare,
    AskSpaceMove,
    AskSpaceRead,
    AskSpaceRemove,
    AskSpaceWrite,
    arguments,
)
from mesh.wire.commands import Call
from mesh.wire.replies import (
    R,
    SpaceDefined,
    SpaceList,
    SpaceMoved,
    SpaceRow,
    SpaceRows,
    SpaceWritten,
    read_result,
)

if TYPE_CHECKING:
    from mesh.features.spaces.client.spacing import Spacing

NODE_AWAY = "NODE_AWAY"
ANY = -1  # version of a write: whatever version is there
MOVING = ("NOT_HOME", "NO_LEASH")  # the home is being moved, or starts
PATIENCE, PAUSE = 10.0, 0.5  # s for which a call is repeated, and between two attempts

REASONS = {
    "OTHER_VERSION": ("Another version is there.", "Read the value, and try again."),
    "OVERFLOW": ("The counter would leave the range of 64 bits.", "Use another counter."),
    "MAP_FULL": ("The map is full.", "Remove keys, or declare another map with higher limits."),
    "STALE_WRITE": ("An earlier attempt of this write was given up.", "Read the value to see its outcome."),
}


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The outcome of a move of a map, or of a group of counters.

    Attributes:
        moved: Whether the home is another one now.
        copies: With `force`: the number of copies with which the new home begins.
        oldest: Age of the oldest copy in s.
        newest: Age of the newest copy in s.
    """

    moved: bool
    copies: int = 0
    oldest: float = 0.0
    newest: float = 0.0


class Numbers:
    """The numbers of a client's writes to one space."""

    def __init__(self) -> None:
        self._next = 1
        self._open: set[int] = set()

    def begin(self) -> int:
        """Return the number of a new write."""
        number = self._next
        self._next += 1
        self._open.add(number)
        return number

    def end(self, number: int) -> None:
        """Mark a write as answered or given up."""
        self._open.discard(number)

    @property
    def low(self) -> int:
        """The lowest number without an answer."""
        return min(self._open, default=self._next)


class Asking:
    """A handle whose calls are questions to the client's node."""

    _client: Spacing

    async def _repeated(self, ask: Ask, says: type[R], timeout: float | None, codes: Sequence[str]) -> R:
        """Ask, and repeat the question for PATIENCE s while the answer is an error with one of the codes."""
        for attempt in count(1):
            try:
                return await self._ask(ask, says, timeout)
            except LocalError as error:
                if error.code not in codes or attempt * PAUSE >= PATIENCE:
                    raise
            await self._pause()
        raise AssertionError("the loop has no end")

    async def _pause(self, seconds: float = PAUSE) -> None:
        with suppress(TimeoutError):
            async with self._client._shell.timeout(seconds):
                await asyncio.get_running_loop().create_future()

    async def _ask(self, ask: Ask, says: type[R], timeout: float | None) -> R:
        verb, said = ask.verb, arguments(ask)
        client = self._client
        parts = await client._within(timeout, client._call_node, lambda request: Call(request, verb, said))
        return read_result(says, parts[-1][0])


class Space(Asking):
    """A map, or a group of counters, as a client uses it."""

    def __init__(self, client: Spacing, name: str) -> None:
        self._client = client
        self._space = check_space(name)

    async def _write(self, op: str, key: str, timeout: float | None, **fields: Any) -> SpaceWritten:
        """Write, and return the outcome: success or OTHER_VERSION. Raises: LocalError for other refusals."""
        client = self._client
        numbers = client._numbers_of(self._space)
        number = numbers.begin()
        try:
            ask = AskSpaceWrite(
                space=self._space,
                op=op,
                key=key,
                number=number,
                low=numbers.low,
                writer=client._key.public,
                **fields,
            )
            ask = replace(ask, signature=client._key.sign(write_text(ask)))
            found = await self._answered(ask, timeout)
        finally:
            numbers.end(number)
        if found.code and found.code != "OTHER_VERSION":
            what, hint = REASONS.get(found.code, (f"The write was refused: {found.code}.", ""))
            raise LocalError(f"{self._space}, {key!r}: {what}", hint=hint, code=found.code)
        return found

    async def _answered(self, ask: AskSpaceWrite, timeout: float | None) -> SpaceWritten:
        """Return the outcome of a write, which is repeated for PATIENCE s while its home is unreachable."""
        try:
            return await self._repeated(ask, SpaceWritten, timeout, (NODE_AWAY, *MOVING))
        except LocalError as error:
            if error.code not in (NODE_AWAY, *MOVING):
                raise
            what = f"{error.what} The change of {ask.key!r} may have been made."
            raise LocalError(what, hint=error.hint, code=error.code) from None

    async def _read(
        self, key: str, timeout: float | None, fresh: bool = True
    ) -> tuple[SpaceRow | None, bool]:
        """Return the row of a key, and whether it is a copy that may be old."""
        ask = AskSpaceRead(space=self._space, key=key, fresh=fresh)
        found = await self._repeated(ask, SpaceRows, timeout, MOVING)
        return found.rows[0] if found.rows else None, found.stale

    async def _rows(self, timeout: float | None, fresh: bool = True) -> AsyncIterator[tuple[SpaceRow, bool]]:
        """Yield all rows, page by page, and whether they are copies that may be old."""
        after = ""
        while True:
            ask = AskSpaceRead(space=self._space, after=after, fresh=fresh)
            page = await self._repeated(ask, SpaceRows, timeout, MOVING)
            for row in page.rows:
                yield row, page.stale
            after = page.next
            if not after:
                return

    async def _declare(
        self, home: str, max_keys: int, max_bytes: int, voters: Sequence[str], timeout: float | None = None
    ) -> SpaceDefined:
        ask = AskSpaceDeclare(
            space=self._space, home=home, max_keys=max_keys, max_bytes=max_bytes, voters=list(voters)
        )
        return (await self._repeated(ask, SpaceList, timeout, MOVING)).spaces[0]

    async def _move(
        self, to: str, force: bool, stopped: str | Sequence[str], accept_loss: bool, timeout: float | None
    ) -> MoveReport:
        if (stopped or accept_loss) and not force:
            raise BadArgument("stopped= and accept_loss= need force=True.", hint="See Map.move().")
        lost = [stopped] if isinstance(stopped, str) and stopped else list(stopped)
        ask = AskSpaceMove(space=self._space, to=to, force=force, stopped=lost, accept_loss=accept_loss)
        return report_of(await self._ask(ask, SpaceMoved, timeout))

    async def _drop(self, timeout: float | None) -> None:
        await self._ask(AskSpaceRemove(space=self._space), SpaceList, timeout)


def report_of(moved: SpaceMoved) -> MoveReport:
    """Return the report of a move."""
    return MoveReport(bool(moved.spaces), moved.copies, moved.oldest, moved.newest)
