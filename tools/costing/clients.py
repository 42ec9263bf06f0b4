"""The cost of an envelope for the clients that fill it, and that empty it.

The client is the real one, on a substitute for its sockets.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any
from unittest.mock import patch

from mesh.client import wired
from mesh.client.client import Client
from mesh.client.core.builder import Builder
from mesh.client.core.subscriptions import ACK_AFTER
from mesh.client.subscription import Subscription
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import body_frames, write
from tools.costing.meter import Bill, Meter
from tools.costing.wire import MASTER, Wire

CONTENT = bytes(100)
KEY = "bench/0"


class StandingLoop(asyncio.SelectorEventLoop):
    """An event loop with a manual clock, so that no timer fires unexpectedly and is counted."""

    now = 0.0

    def time(self) -> float:
        return self.now


class ClientPath(ABC):
    """A connected client with one subscription.

    `bill` never yields to the loop, so that no timer is counted.
    """

    def __init__(self) -> None:
        self.meter = Meter()
        self.loop = StandingLoop()
        self.client = Client("ipc:///run/heron", client="joe")
        with patch.object(wired, "Sockets", Wire):
            self.subscription = self.loop.run_until_complete(self._enter())
        self.wire = Wire.made
        for count in (100, 1):
            self.bill(count)

    async def _enter(self) -> Subscription:
        await self.client.__aenter__()
        return await self.client.subscribe(KEY, initial=False).__aenter__()

    def bill(self, count: int) -> Bill:
        async def run() -> None:
            self.carry_out(count)

        self.meter.take()
        self.loop.run_until_complete(run())
        return self.meter.take()

    @abstractmethod
    def carry_out(self, count: int) -> None:
        """Handle an envelope of `count` messages, counted by the meter."""

    def close(self) -> None:
        self.loop.run_until_complete(self.client.close())
        self.loop.close()

    def hear(self, command: c.Command, *envelopes: Envelope) -> None:
        """Receive a command from the node, and finish the work that follows."""
        self.meter.run(self.wire.hear, 1, write(command, envelopes))
        self.meter.run(self.wire.idle)


class Posting(ClientPath):
    """The path of messages that are posted, sent and answered."""

    def carry_out(self, count: int) -> None:
        for _ in range(count):
            self.meter.run(self.client.post, KEY, CONTENT)
        # The loop would call it next; its own turn then finds no work.
        self.meter.run(self.client._shell._planned)
        [envelope] = self.wire.published
        self.wire.published.clear()
        assert envelope.count == count
        self.hear(c.Answers((c.Answer("", envelope.first, envelope.last),)))
        assert not self.client._core.publisher.outbox.unanswered


class Arriving(ClientPath):
    """The path of messages that arrive, and are used in one of several styles."""

    def __init__(self) -> None:
        self._first, self._seq = 1, 0
        super().__init__()

    def carry_out(self, count: int) -> None:
        builder = Builder("", 0, "", self._first)
        for _ in range(count):
            builder.add(KEY, CONTENT, b"", 0)
        envelope = builder.seal(b"s" * 16).mastered(1, Hop("heron", 0, 1))
        self._first += count
        self._seq += 1
        head = c.ItemHead(body_frames(envelope), 0, MASTER, ((int(self.subscription.id), b""),))
        self.hear(c.Items(self._seq, (head,)), envelope)
        assert self.use(count) == count
        self.loop.now += ACK_AFTER
        self.meter.run(self.client._shell._rung)

    @abstractmethod
    def use(self, count: int) -> int:
        """Use the messages that have arrived, and return their number."""

    def finished(self, step: Coroutine[Any, Any, Any]) -> Any:
        """Return the result of a step, which must not wait."""
        try:
            self.meter.run(step.send, None)
        except StopIteration as end:
            return end.value
        raise AssertionError("it waits, though everything is there")


class Contents(Arriving):
    """The path of `async for batch in subscription.batches(): batch.contents()`."""

    def use(self, count: int) -> int:
        batch = self.finished(self.subscription._next_batch())
        contents = self.meter.run(batch.contents)
        self.meter.run(self.subscription._count)
        return len(contents)


class Messages(Arriving):
    """The path of `async for batch in subscription.batches(): for message in batch: …`."""

    def use(self, count: int) -> int:
        batch = self.finished(self.subscription._next_batch())
        messages: list[Any] = self.meter.run(list, batch)
        self.meter.run(self.subscription._count)
        return len(messages)


class OneByOne(Arriving):
    """The path of `async for message in subscription: …`."""

    def use(self, count: int) -> int:
        # The first step also finds the end of the batch before.
        return len([self.finished(self.subscription.__anext__()) for _ in range(count)])
