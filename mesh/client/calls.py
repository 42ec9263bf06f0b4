"""Questions to the node that wait for their reply, over reconnects too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mesh.client.refusals import of_reply
from mesh.errors import BadArgument, Closed, MeshTimeout, RemoteError, shown
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope

NEVER = partial(float, "-inf")
Part = tuple[Any, list[Envelope]]  # of a reply: its value, and the envelopes that came with it


@dataclass(slots=True, eq=False)
class Pending:
    """One question, and what has come of its reply."""

    command: c.Command
    reply: asyncio.Future[list[Part]]
    parts: list[Part] = field(default_factory=list)


def readable(command: c.Command) -> c.Command:
    """The command, if a node will read it; BadArgument else. It would hang up, again and again."""
    try:
        c.decode(c.encode(command))
    except (RemoteError, TypeError, ValueError, OverflowError, RecursionError) as error:
        why = error.what if isinstance(error, RemoteError) else str(error)
        hint = "What is asked is made of str, bytes, numbers, True, False, None, lists and dicts."
        raise BadArgument(f"no node could read {shown(command)}: {why}.", hint=hint) from None
    return command


class Calls:
    """Each has a request number, and the same question may be asked twice without harm."""

    def __init__(
        self, send: Callable[[c.Command], bool], timeout: float, moved: Callable[[], float] = NEVER
    ) -> None:
        self._send = send
        self._moved = moved  # when a part of a long message went or came: of the reply, perhaps
        self._timeout = timeout
        self._pending: dict[int, Pending] = {}
        self._request = 0

    async def ask(self, make: Callable[[int], c.Command]) -> Any:
        """The value of the reply. Raises what the node answers, MeshTimeout, Closed."""
        parts = await self.ask_for_parts(make)
        return parts[-1][0]

    async def ask_for_parts(self, make: Callable[[int], c.Command]) -> list[Part]:
        """The parts of a reply that brings envelopes; else as `ask`."""
        self._request += 1
        request = self._request
        command = readable(make(request))
        pending = Pending(command, asyncio.get_running_loop().create_future())
        self._pending[request] = pending
        self._send(pending.command)
        try:
            return await self._parts(pending.reply)
        finally:
            self._pending.pop(request, None)

    async def _parts(self, reply: asyncio.Future[list[Part]]) -> list[Part]:
        """All of a reply. MeshTimeout when for so long neither it came nor a piece of anything."""
        loop = asyncio.get_running_loop()
        while not reply.done():
            done, _ = await asyncio.wait([reply], timeout=self._timeout)
            if not done and loop.time() - self._moved() >= self._timeout:
                what = f"the node did not answer within {self._timeout:g} s."
                raise MeshTimeout(what, hint="Is it running? See `mesh ls`.")
        return reply.result()

    def tell(self, make: Callable[[int], c.Command]) -> None:
        """Ask without waiting for the reply: while the node is away it is asked when it is back."""
        self._request += 1
        request = self._request
        pending = Pending(make(request), asyncio.get_running_loop().create_future())
        pending.reply.add_done_callback(lambda _: self._pending.pop(request, None))
        self._pending[request] = pending
        self._send(pending.command)

    def replied(self, reply: c.Reply, envelopes: list[Envelope]) -> None:
        """A reply, or a part of one."""
        pending = self._pending.get(reply.request)
        if pending is None or pending.reply.done():
            return
        pending.parts.append((reply.value, envelopes))
        if reply.code:
            pending.reply.set_exception(of_reply(reply))
        elif not (isinstance(reply.value, dict) and reply.value.get("more")):
            pending.reply.set_result(pending.parts)

    def again(self) -> None:
        """After a reconnect: ask everything again."""
        for pending in self._pending.values():
            pending.parts.clear()
            self._send(pending.command)

    def close(self, error: Closed) -> None:
        """Nobody will reply any more."""
        for pending in list(self._pending.values()):
            if not pending.reply.done():
                pending.reply.set_exception(error)
                pending.reply.exception()  # nobody may be waiting for it
