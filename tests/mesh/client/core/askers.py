"""A client that sends requests to a node that the test plays."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import MeshError
from mesh.features.services.client.core.gathered import Gathered
from mesh.features.services.client.core.requests import REPLIES, One
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, REPLY, REQUEST, Envelope, as_ranges
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.client.core.benches import CoreBench, Promised
from tools.costing.wire import WELCOME

SERVER = "/node/heron/client/adder/session/-1"


def reply(*numbers: int, content: bytes = b"yes", code: str = "", sender: str = SERVER) -> Envelope:
    """Return one reply to each of these requests, all with the same content."""
    props = encode_properties(Properties(code=code))
    body = props + content
    return Envelope(
        stream=b"s" * 16,
        domain=SENDS,
        first=numbers[0],
        last=numbers[-1],
        keys=("",),
        count=len(numbers),
        sizes=len(body),
        body=body * len(numbers),
        props=array("I", [len(props)] * len(numbers)).tobytes() if props else 0,
        flags=REPLY,
        numbers=as_ranges(numbers),
        sender=sender,
        to="/node/heron/client/joe/session/1",
    )


class Bench(CoreBench):
    """A client that sends requests, and the messages that it has published."""

    def __init__(self) -> None:
        super().__init__()
        self.seq = 0

    def ask(self, to: str = "calc/add", timeout: float = 5.0) -> tuple[int, Promised]:
        """Post a request, and return its number and promise. The request leaves when the bench waits."""
        core = self.core
        until = core.requests.until(timeout)
        number = core.publisher.post_to(to, "", b"1+1", REQUEST, b"", until)
        promise: Any = self.context.promise()
        core.requests.add(number, One(promise, core.requests.bucket(until), to, timeout))
        return number, promise

    def gather(self, most: int = 1000, timeout: float = 1.0) -> tuple[int, Gathered]:
        core = self.core
        until = core.requests.until(timeout)
        number = core.publisher.post_to("who", "", b"?", REQUEST | EVERY, b"", until)
        gathered = Gathered(core.requests.bucket(until), most)
        core.requests.add(number, gathered)
        return number, gathered

    def item(self, *envelopes: Envelope, number: int = REPLIES) -> None:
        self.seq += 1
        heads = tuple(c.ItemHead(1, targets=((number, b""),)) for _ in envelopes)
        self.hear(c.Items(self.seq, heads), *envelopes)

    def answer(self, first: int, last: int, state: str = "OK", matched: int = 1) -> None:
        self.hear(c.Answers((c.Answer(SENDS, first, last, state, matched, "as it is"),)))

    def published(self) -> list[tuple[c.Publish, Envelope]]:
        said = [effect for effect in self.done if isinstance(getattr(effect, "command", None), c.Publish)]
        return [(effect.command, effect.envelopes[0]) for effect in said]  # type: ignore[union-attr,misc]

    @property
    def is_empty(self) -> bool:
        """Whether no request is left in any table."""
        requests = self.core.requests
        return not requests._open and not any(requests._buckets.values()) and not requests._counting

    def lose(
        self, boot: int = 1, speaks: tuple[str, ...] = WELCOME.speaks, next: int = 1 << 20, after: float = 0.0
    ) -> None:
        """Break the connection and reconnect after a while, perhaps to another process of the node."""
        self.core.on_disconnected(self.context.now, self.core.line.key)
        self.done.clear()
        self.wait(after)
        self.connect(replace(WELCOME, node=replace(WELCOME.node, boot=boot), next=next, speaks=speaks))


def error_of(promise: Promised) -> MeshError:
    with pytest.raises(MeshError) as caught:
        promise.result()
    return caught.value
