"""Results of the stores, from their threads to the core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Protocol

from mesh.errors import MeshError, StoreError, StoreFull
from mesh.kernel.node import NodeCore
from mesh.operations import Stored


class StoreResultsDriver(Protocol):
    """Driver of the core that used the stores."""

    core: NodeCore

    def call(self, happens: Callable[..., Any], what: str) -> Any: ...
    def idle(self) -> None: ...
    def settle(self) -> None: ...
    def give_up(self, why: MeshError) -> None: ...


class StoreResults:
    """Passes the results of commits and reads to the core of `driver`, on the loop, until a store fails."""

    def __init__(self, loop: asyncio.AbstractEventLoop, driver: StoreResultsDriver) -> None:
        self._loop, self._driver = loop, driver
        self._commit_ended = asyncio.Event()
        self._has_failed = False  # store or core failed

    def committed(self, store: str, tokens: list[Hashable], error: StoreError | None) -> None:
        """Report the end of commits to a store.

        The store's thread calls this method.
        """
        self._loop.call_soon_threadsafe(self._stored, tokens, error, store)

    def _stored(self, tokens: list[Hashable], error: StoreError | None, store: str = "") -> None:
        if error is not None and not isinstance(error, StoreFull):
            self._store_failed(error)
        else:
            for token in tokens:
                if isinstance(token, int):
                    self._driver.call(
                        partial(self._driver.core.stored, token, error, store=store), "the end of a commit"
                    )
        self._commit_ended.set()
        self._driver.settle()  # answers wait only for the disk

    def fetched(self, store: str, token: Hashable, found: list[Stored] | StoreError) -> None:
        """Report that envelopes of a store were read, or the error.

        The store's thread calls this method.
        """
        self._loop.call_soon_threadsafe(self._read, token, found, store)

    def _read(self, token: Hashable, found: list[Stored] | StoreError, store: str = "") -> None:
        if isinstance(found, StoreError):
            self._store_failed(found)
        if isinstance(token, int):
            self._driver.call(
                partial(self._driver.core.fetched, token, found, store=store), "a read from its store"
            )
        self._commit_ended.set()  # after a failure, nothing waits for it
        self._driver.idle()

    def _store_failed(self, error: StoreError) -> None:
        # A broken disk cannot be trusted: stop, and start again from its content. A failed commit may have
        # been written, even if this process is fenced off: perhaps only the answer was lost. So clients that
        # wait get no answer here; the next process recognizes stored messages.
        if self._has_failed:
            return  # later errors, as of other commits to that store, would hide the cause
        self._has_failed = True
        self._driver.give_up(MeshError(f"{error.what} {error.hint}".strip(), code=error.code))

    async def all_stored(self) -> None:
        """Wait until all commits on which an answer depends have ended, or the node has failed."""
        while not self._has_failed and self._driver.core.parts.disks.storing:
            self._commit_ended = asyncio.Event()
            await self._commit_ended.wait()

    def abandon(self) -> None:
        """End `all_stored` after a failure of the core: no result matters any more."""
        self._has_failed = True
        self._commit_ended.set()
