"""A plain function that may take its time: called in a thread beside the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def in_thread(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What it returns, or raises."""

    def call() -> Any:
        try:
            return function(*args, **kwargs)
        except StopIteration as error:  # no future takes it: who waits for this one would do so for ever
            raise RuntimeError("the function raised StopIteration") from error

    return await asyncio.to_thread(call)
