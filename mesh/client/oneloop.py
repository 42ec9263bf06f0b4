"""Is this the event loop, and the process, in which the client was opened? Elsewhere nothing would come."""

from __future__ import annotations

from asyncio import AbstractEventLoop

# As the public one, but that it says None where no loop runs: so it costs an envelope next to nothing.
from asyncio import _get_running_loop as running_loop
from typing import NoReturn, SupportsIndex

from mesh.errors import BadType, Closed, WrongLoop

__all__ = ["NotCopied", "check_asyncio", "check_loop", "not_open", "running_loop", "wrong_loop"]

HINT = (
    "Open it, and use it, inside one `asyncio.run`; or use `mesh.sync.connect()`, "
    "whose client may be used from any thread and without a loop."
)

ELSEWHERE = (
    "Open it inside `asyncio.run`. Under trio, or without a loop, use `mesh.sync.connect()`: under trio in a "
    "thread, by `trio.to_thread.run_sync`."
)


class NotCopied:
    """What holds a connection: pickle and copy are refused, in place of an error about some part of it."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise BadType(
            "a client can be neither pickled nor copied: its connection belongs to this process.",
            hint="Give the other process the address, and have it connect there itself.",
        )


def check_asyncio() -> None:
    """WrongLoop where no event loop of asyncio runs, as under trio."""
    if running_loop() is None:
        raise WrongLoop("this client was opened where no event loop of asyncio runs.", hint=ELSEWHERE)


def check_loop(own: AbstractEventLoop | None) -> None:
    """WrongLoop, unless `own` runs here; None is that of a client that was not opened yet."""
    if own is not None and own is not running_loop():
        raise wrong_loop(own)


def wrong_loop(own: AbstractEventLoop) -> WrongLoop:
    """The error for a client of that loop which is used where another one runs, or none."""
    ended = ", and that one has ended" if own.is_closed() else ""
    here = "in another event loop" if running_loop() is not None else "where no event loop of asyncio runs"
    return WrongLoop(
        f"this client is used {here}: it hears its node only in the one where it was opened{ended}.",
        hint=HINT,
    )


def not_open(own: AbstractEventLoop | None) -> Closed:
    """The error for a client that was not opened, or is closed."""
    if own is not None and own.is_closed():
        return Closed("this client is closed, and so is the event loop where it was opened.", hint=HINT)
    return Closed("this client is not open.", hint="Use it inside `async with mesh.connect() as m:`.")
