"""Runs blocking functions in threads, so that they do not block the event loop."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from mesh.errors import BadType
from mesh.shortening import shown


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run `function` in a thread; return its result or raise its exception."""

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # futures do not accept StopIteration
            raise RuntimeError("the function raised StopIteration") from error

    return await asyncio.to_thread(call)


def threaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that calls `function` in a thread."""

    @functools.wraps(function)
    async def call(*args: Any) -> None:
        await in_thread(function, *args)

    return call


def check_plain(function: Any) -> None:
    """Raise BadType for a function that needs an event loop."""
    if inspect.iscoroutinefunction(function):
        hint = "Write it without `async`, or use mesh.connect()."
        raise BadType(f"{shown(function)} is an async function, which mesh.sync cannot run.", hint=hint)
