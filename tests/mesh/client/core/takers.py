"""A client that consumes from a queue of a node that the test plays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from mesh.client.core.client_context import Promise
from mesh.client.core.delivered_envelope import DeliveredEnvelope
from mesh.features.queues.client.core.queue_consumption import QueueConsumption
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.frames import read, write
from tests.mesh.client.core.benches import CoreBench
from tests.mesh.envelopes import envelope
from tools.costing.wire import WELCOME as PLAIN

WELCOME = replace(PLAIN, speaks=(*PLAIN.speaks, "queues"))

STREAM = b"s" * 16


def jobs(count: int, first: int = 1, stream: bytes = STREAM) -> Envelope:
    made = envelope(" ".join(["k"] * count), first=first)
    return replace(made, stream=stream, domain="queue/jobs", to="queue/jobs", keys=("",), index=b"")


class Bench(CoreBench):
    """A client that consumes from a queue, and a node that answers only when the test makes it."""

    def __init__(self, credit: int = 100, lease: int = 0) -> None:
        super().__init__()
        self.seq = self.epoch = 0
        self.again_with(WELCOME)
        self.it: QueueConsumption = self.core.queues.new_consumer(7, "queue/jobs", credit, "", lease)
        self.entered: Promise = self.core.queues.register(self.it)
        self.wait()

    def again_with(self, welcome: c.Welcome, boot: int = 1) -> None:
        self.core.on_disconnected(self.context.now, self.core.line.key)
        self.done.clear()
        self.connect(replace(welcome, node=replace(welcome.node, boot=boot), next=1 << 20))

    def lose(self, boot: int = 1) -> c.Consume:
        """Break the connection, reconnect, and return the CONSUME that follows."""
        self.again_with(WELCOME, boot)
        return self.consume()

    def all(self, kind: type[Any]) -> list[Any]:
        return [said for said in self.sent() if isinstance(said, kind)]

    def consume(self) -> c.Consume:
        """Return the last CONSUME, and check that a node can read it."""
        asked: c.Consume = self.all(c.Consume)[-1]
        assert read(write(asked))[0] == asked
        return asked

    def open(self, void: Sequence[int] = ()) -> None:
        """Answer the last CONSUME."""
        self.epoch += 1
        self.hear(c.Reply(self.consume().request, {"epoch": self.epoch, "void": list(void)}))

    def give(self, envelope: Envelope, tries: bytes = b"", indices: Sequence[int] = ()) -> None:
        self.seq += 1
        column = struct.pack(f"<{len(indices)}H", *indices)
        self.hear(c.Items(self.seq, (c.ItemHead(1, targets=((7, column),), tries=tries),)), envelope)

    def take(self, count: int = 1) -> list[tuple[DeliveredEnvelope, int]]:
        found = [self.it.take_message() for _ in range(count)]
        return [(each[0], each[1]) for each in found if each is not None]

    def say(self, what: int, *of: tuple[DeliveredEnvelope, int], delay: int = 0, reason: str = "") -> Promise:
        for queued, place in of:
            self.it.check_settleable(queued, place)
        return self.it.settle_messages(what, [(queued, [place]) for queued, place in of], delay, reason)

    def settled(self) -> list[c.Settle]:
        """Return all SETTLE commands since the last call, and check that a node can read them."""
        self.wait()
        settles = self.all(c.Settle)
        assert all(read(write(each))[0] == each for each in settles)
        self.done.clear()
        return settles

    def answer(self, settle: c.Settle, *late: tuple[int, int]) -> None:
        self.hear(c.Reply(settle.request, [[first, last, "LEASE_OVER"] for first, last in late]))


def opened(credit: int = 100, lease: int = 0) -> Bench:
    bench = Bench(credit, lease)
    bench.open()
    bench.done.clear()
    return bench


def counts(taken: Sequence[tuple[DeliveredEnvelope, int]]) -> list[int]:
    return [queued.counts[place] for queued, place in taken]


def is_open(promise: Any) -> bool:
    return not promise.done()
