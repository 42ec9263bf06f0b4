"""The adapter of a user's connection: five methods, alike for all drivers."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from mesh.errors import BadArgument, LocalError

T = TypeVar("T")
Row = tuple[Any, ...]


class Adapter(Protocol):
    """A connection of a database. A driver raises its own errors.

    The coroutines of a blocking driver never suspend, so `drive` can run them without an event loop.
    """

    dialect: Any
    connection: Any
    is_blocking: bool

    def is_begun(self) -> bool:
        """Return whether the connection is in a transaction."""

    async def begin(self) -> None:
        """Begin a transaction, if the driver does not begin it by itself.

        Raises: LocalError DB_AUTOCOMMIT.
        """

    async def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute a statement with `?` for each value, and return its rows: none if it is not a query."""

    async def commit(self) -> None: ...

    async def rollback(self) -> None: ...


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends. Raises: BadArgument if it suspends, as its driver needs a loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    what = "The connection is asynchronous, and this program has no event loop."
    raise BadArgument(
        what, hint="Pass a connection of a blocking driver, or use mesh.connect() with asyncio."
    )


def autocommit() -> LocalError:
    what = "The connection is in autocommit mode, so changes and messages are not committed together."
    hint = "Open it without autocommit, or begin a transaction first."
    return LocalError(what, hint=hint, code="DB_AUTOCOMMIT")
