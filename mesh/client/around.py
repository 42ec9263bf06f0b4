"""The clocks and timers of a client, which tests replace."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from mesh.streams.outbox import Outbox


def awake_time() -> float:
    """Return the time of a monotonic clock in s, which on Linux goes on while the machine sleeps."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class Cancellable(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Timeout(Protocol):
    """A time limit for a block, like the one of `asyncio.timeout`."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None: ...
    def expired(self) -> bool: ...


class Around(Protocol):
    """The clocks, timers and outbox that a client uses.

    `time` is in s, of a monotonic clock; `wall` is in ns since 1970. `outbox` keeps unanswered messages; if
    it is None, the client creates one.
    """

    outbox: Outbox | None

    def time(self) -> float: ...
    def wall(self) -> int: ...
    def call_at(self, when: float, function: Callable[[], None], /) -> Cancellable: ...
    def timeout(self, seconds: float, /) -> Timeout: ...
