"""Handlers of a client on a wire: a task that runs them, and what the client sends and logs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mesh.wire import commands as c
from tests.mesh.client.wired import Wired, turns


class Background:
    """A task that runs `Client.run` during the block. Errors of `run` are raised at the end."""

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
    """Return the number of the subscription with the query `text`."""
    return next(s.subscription for s in it.wire.said if isinstance(s, c.Subscribe) and s.query.text == text)


class Listener(logging.Handler):
    """A log handler that keeps all records."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """Yield the records that are logged during the block."""
    listener, logger = Listener(), logging.getLogger("mesh.client")
    logger.addHandler(listener)
    try:
        yield listener.records
    finally:
        logger.removeHandler(listener)
