"""What is around a client, if not the clocks of its machine?"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from mesh.streams.outbox import Outbox


class Cancellable(Protocol):
    """Something that will be called, unless it is cancelled."""

    def cancel(self) -> None: ...


class Timeout(Protocol):
    """A limit for what is done within its context, as that of `asyncio.timeout`."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...
    def expired(self) -> bool: ...


class Around(Protocol):
    """The surroundings of a client. `time` in s, of a clock that does not go back, `wall` in ns since 1970.

    `outbox`: where the client keeps what is not answered; None: in one of its own.
    """

    outbox: Outbox | None

    def time(self) -> float: ...
    def wall(self) -> int: ...
    def call_at(self, when: float, function: Callable[[], None], /) -> Cancellable: ...
    def timeout(self, seconds: float, /) -> Timeout: ...
