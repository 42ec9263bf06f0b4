"""Handlers on a wire: what runs beside the test, and what it says to its node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mesh.wire import commands as c
from tests.mesh.client.wired import Wired, turns


class Background:
    """`run` beside the test, until it is left; what it raised is then in `error`."""

    def __init__(self, it: Wired, **options: Any) -> None:
        self.task = asyncio.create_task(it.client.run(**options))

    async def __aenter__(self) -> Background:
        await turns()
        return self

    async def __aexit__(self, *error: object) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await self.task


def used(it: Wired) -> dict[int, int]:
    return {n: s.used for n, s in it.client._core.subscriptions._all.items()}


def left(it: Wired) -> list[int]:
    return [said.subscription for said in it.wire.said if isinstance(said, c.Unsubscribe)]


def number(it: Wired, text: str) -> int:
    """Of the subscription that asks for it."""
    return next(s.subscription for s in it.wire.said if isinstance(s, c.Subscribe) and s.query.text == text)


class Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is logged meanwhile."""
    listener, logger = Listener(), logging.getLogger("mesh.client")
    logger.addHandler(listener)
    try:
        yield listener.records
    finally:
        logger.removeHandler(listener)
