"""The services of an address, now and as they change: `m.registrations("orders")`."""

from __future__ import annotations

import asyncio

from mesh.client.core.watches import Registration
from mesh.client.oneloop import check_loop
from mesh.client.shell import Shell
from mesh.errors import Closed

__all__ = ["Registration", "Registrations"]


class Registrations:
    """An iterator over the nodes that serve an address, then over changes.

    A slow reader receives the latest state of each node, not every step. The sequence numbers show which
    registrations began and ended in between.
    """

    def __init__(self, client: object, shell: Shell, address: str) -> None:
        self._client = client  # keeps the client open
        self._shell, self._address = shell, address
        core = shell.now()
        core.features.check_services()
        self._watching = core.watches.watch(address)
        self._arrived = asyncio.Event()
        self._watching.stirred = self._arrived.set

    def __aiter__(self) -> Registrations:
        return self

    async def __anext__(self) -> Registration:
        watching = self._watching
        while (news := watching.take_change()) is None:
            if watching.error is not None:
                if isinstance(watching.error, Closed):
                    raise StopAsyncIteration
                raise watching.error
            check_loop(self._shell.loop)
            self._arrived.clear()
            await self._arrived.wait()
        return news

    async def aclose(self) -> None:
        """Stop watching. An iterator that is no longer referenced also stops."""
        if self._shell.is_open:
            self._shell.now().watches.end_watch(self._address, self._watching)
        if self._watching.error is None:
            self._watching.error = Closed("This watch is closed.")
            self._watching.stirred()
