"""Is this the event loop in which the client was opened? Elsewhere nothing of it would ever come."""

from __future__ import annotations

from asyncio import AbstractEventLoop

# As the public one, but that it says None where no loop runs: so it costs an envelope next to nothing.
from asyncio import _get_running_loop as running_loop

from mesh.errors import Closed, WrongLoop

__all__ = ["check_loop", "not_open", "running_loop", "wrong_loop"]

HINT = (
    "Open it, and use it, inside one `asyncio.run`; or use `mesh.sync.connect()`, "
    "whose client may be used from any thread and without a loop."
)


def check_loop(own: AbstractEventLoop | None) -> None:
    """WrongLoop, unless `own` runs here; None is that of a client that was not opened yet."""
    if own is not None and own is not running_loop():
        raise wrong_loop(own)


def wrong_loop(own: AbstractEventLoop) -> WrongLoop:
    """The error for a client of that loop which is used where another one runs, or none."""
    ended = ", and that one has ended" if own.is_closed() else ""
    here = "in another event loop" if running_loop() is not None else "where no event loop runs"
    return WrongLoop(
        f"this client is used {here}: it hears its node only in the one where it was opened{ended}.",
        hint=HINT,
    )


def not_open(own: AbstractEventLoop | None) -> Closed:
    """The error for a client that was not opened, or is closed."""
    if own is not None and own.is_closed():
        return Closed("this client is closed, and so is the event loop where it was opened.", hint=HINT)
    return Closed("this client is not open.", hint="Use it inside `async with mesh.connect() as m:`.")
