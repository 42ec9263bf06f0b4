"""What becomes of a client that was opened, and that nobody closes?

It is closed when nobody has it any more, or when its loop ends, whichever comes first: asyncio ends an
asynchronous generator at either, within the loop. A loop that is closed by hand leaves the sockets to
mesh/transport/lifetime.py.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar
from weakref import ref

from mesh.client.session import Session

T = TypeVar("T")


def weakly(method: Callable[..., T], otherwise: Callable[..., Any] = lambda *_: None) -> Callable[..., T]:
    """The same method, for somebody who must not keep its owner alive; `otherwise` is called without one."""
    owner, function = ref(method.__self__), method.__func__  # type: ignore[attr-defined]

    def call(*args: Any) -> T:
        it = owner()
        return otherwise(*args) if it is None else function(it, *args)  # type: ignore[no-any-return]

    return call


async def closed_in_the_end(session: Session, close: Callable[[], None]) -> AsyncGenerator[None, None]:
    """To be begun when the client is opened, and kept by nobody but the client."""
    try:
        yield
    finally:
        if not session.is_closed:
            close()
            warnings.warn(
                f"the client {session.name or 'that was just connecting'} was never closed. "
                "Use it inside `async with mesh.connect() as m:`, or await m.close().",
                ResourceWarning,
                stacklevel=2,
            )
