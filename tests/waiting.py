"""Waiting for a condition, never for a time.

A limit only guards against hanging. It is at least ten times what is expected, and it grows while other work
takes the processors, because no test measures the machine.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from inspect import isawaitable

LIMIT = 120.0  # s for one step of a test
MOST = 4.0  # keeps each wait below the timeout of pytest
EVERY = 0.02  # s between two checks of a condition


def lag() -> float:
    """Return how many running programs share a processor: at least 1, and at most `MOST`."""
    return min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), MOST)


def until(condition: Callable[[], object], limit: float = LIMIT) -> None:
    """Wait for a condition that another thread or process brings about.

    Each check counts as `EVERY` seconds divided by `lag()`, so the limit grows with the load of the machine.
    """
    left = limit
    while not condition():
        assert left > 0, f"the condition did not become true within {limit:g} s"
        time.sleep(EVERY)
        left -= EVERY / lag()


async def eventually(condition: Callable[[], object | Awaitable[object]], limit: float = LIMIT) -> None:
    """Wait as `until` does while the event loop runs. The condition may return an awaitable."""
    left = limit
    while True:
        found = condition()
        if await found if isawaitable(found) else found:
            return
        assert left > 0, f"the condition did not become true within {limit:g} s"
        await asyncio.sleep(EVERY)
        left -= EVERY / lag()
