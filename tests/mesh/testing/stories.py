"""A story in a loop of its own, with a mesh of its own."""

from __future__ import annotations

import asyncio
import functools
import gc
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

from mesh.testing import Mesh
from tests.waiting import LIMIT


def story(
    *nodes: Any, **told: Any
) -> Callable[[Callable[[Mesh], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """Told with a mesh of these nodes. What it leaves that was never awaited or closed is a failure."""

    def decorate(test: Callable[[Mesh], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        @functools.wraps(test)
        def run() -> None:
            async def tell() -> None:
                async with Mesh(*nodes, **told) as m:
                    await test(m)

            with warnings.catch_warnings():
                warnings.simplefilter("error")
                asyncio.run(asyncio.wait_for(tell(), LIMIT))
                gc.collect()

        del run.__wrapped__  # pytest would take the mesh for a fixture
        return run

    return decorate
