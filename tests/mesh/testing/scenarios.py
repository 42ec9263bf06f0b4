"""Tests that run in an event loop of their own, with a mesh of their own."""

from __future__ import annotations

import asyncio
import functools
import gc
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

from mesh.testing import Mesh
from tests.waiting import LIMIT


def scenario(
    *nodes: Any, **told: Any
) -> Callable[[Callable[[Mesh], Coroutine[Any, Any, None]]], Callable[[], None]]:
    """Run the test with a mesh of these nodes. A resource that is left unawaited or unclosed is a failure."""

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
