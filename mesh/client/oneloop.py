"""Checks that a client is used in the event loop in which it was opened, and is not copied."""

from __future__ import annotations

from asyncio import AbstractEventLoop

# Unlike the public function, this one returns None without a loop, and is fast enough for each envelope.
from asyncio import _get_running_loop as running_loop
from typing import NoReturn, SupportsIndex

from mesh.errors import BadType, Closed, WrongLoop

__all__ = ["NotCopied", "check_asyncio", "check_loop", "not_open", "running_loop", "wrong_loop"]

HINT = (
    "Open and use it inside one `asyncio.run`; or use `mesh.sync.connect()`, whose client "
    "works in any thread and without a loop."
)

ELSEWHERE = (
    "Open it inside `asyncio.run`. Under trio, or without a loop, use `mesh.sync.connect()`: "
    "under trio in a thread, with `trio.to_thread.run_sync`."
)


class NotCopied:
    """Base class of objects with a connection: pickling and copying raise BadType."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BadType(
            "A client can be neither pickled nor copied, because it owns a connection.",
            hint="Pass its address instead, and connect again.",
        )


def check_asyncio() -> None:
    """Raise WrongLoop if no asyncio event loop runs here, as under trio."""
    if running_loop() is None:
        raise WrongLoop("The client was opened without a running asyncio event loop.", hint=ELSEWHERE)


def check_loop(own: AbstractEventLoop | None) -> None:
    """Raise WrongLoop unless the loop `own` is running here; None means that there is nothing to check."""
    if own is not None and own is not running_loop():
        raise wrong_loop(own)


def wrong_loop(own: AbstractEventLoop, what: str = "The client", hint: str = HINT) -> WrongLoop:
    ended = ", which has ended" if own.is_closed() else ""
    here = "in another event loop" if running_loop() is not None else "without a running asyncio event loop"
    return WrongLoop(
        f"{what} is used {here}; it works only in the event loop where it was opened{ended}.", hint=hint
    )


def not_open(own: AbstractEventLoop | None) -> Closed:
    if own is not None and own.is_closed():
        return Closed("The client is closed, and so is the event loop where it was opened.", hint=HINT)
    return Closed(
        "The client is not open.",
        hint="Use it inside its block: `async with mesh.connect() as m:` or `async with mesh.node() as m:`.",
    )
