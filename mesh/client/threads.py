"""Runs a blocking function in a thread beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run `function` in a thread; return its result or raise its exception."""

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # futures do not accept StopIteration
            raise RuntimeError("the function raised StopIteration") from error

    return await asyncio.to_thread(call)
