"""A simulated client that puts into queues and consumes from them, by wire commands."""

from __future__ import annotations

from typing import Any

from mesh.reserved import DEAD_LETTERS
from mesh.values import Headers
from mesh.wire import commands as c
from mesh.wire.envelope import PERSISTENT, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import QUEUES, SERVICES
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.features.services.node.user import User
from tests.simulation import SimNetwork, SimNode


class Worker(User):
    """A client at a node that uses queues.

    `got` has (delivery tag, content) by subscription, and `tries` the earlier attempts of each delivery.
    """

    speaks: tuple[str, ...] = (SERVICES, QUEUES)

    def __init__(self, node: SimNode, name: str, key: bytes = b"") -> None:
        self.tries: dict[int, list[int]] = {}
        self.held: dict[int, list[tuple[bytes, int]]] = {}  # by subscription: (stream, number)
        self.calls = 0
        self.puts: dict[str, int] = {}  # by queue: the last number
        super().__init__(node, name, key)

    def _items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        for head, e in zip(command.heads, envelopes, strict=True):
            for number, column in head.targets:
                indices = list(memoryview(column).cast("H")) if column else list(range(e.count))
                self.tries.setdefault(number, []).extend(head.tries or bytes(len(indices)))
                self.held.setdefault(number, []).extend((e.stream, e.number(i)) for i in indices)
        super()._items(command, envelopes)

    # --- asking -------------------------------------------------------------------------------------------

    def asks(self, verb: str, **arguments: Any) -> int:
        """Send a call, and return the number of its request."""
        self._requests += 1
        self.say(c.Call(self._requests, verb, arguments))
        return self._requests

    def ask(self, verb: str, **arguments: Any) -> c.Reply:
        """Send a call, and return the reply."""
        request = self.asks(verb, **arguments)
        self.net.until(lambda: self.said(request))
        reply = self.said(request)
        assert reply is not None
        return reply

    def declare(self, name: str, **terms: Any) -> dict[str, Any]:
        return self.ok(self.ask("queue_declare", name=name, terms=terms))

    def info(self, name: str) -> dict[str, Any]:
        return self.ok(self.ask("queue_info", name=name))

    def ok(self, reply: c.Reply) -> dict[str, Any]:
        assert not reply.code, reply
        assert isinstance(reply.value, dict)
        return reply.value

    # --- putting ------------------------------------------------------------------------------------------

    def put(self, queue: str, *contents: bytes, **how: Any) -> int:
        """Put messages, and return the number of the first."""
        e = self.envelope(queue, *contents, **how)
        self.say(c.Publish((body_frames(e),)), e)
        return e.first

    def envelope(
        self, queue: str, *contents: bytes, put: tuple[int, int, str] | tuple[()] = (),
        flags: int = PERSISTENT, first: int = 0, expires: int = 0, **headers: str,
    ) -> Envelope:  # fmt: skip
        """Return the envelope of a put, with the next numbers unless `first` is given."""
        first = first or self.puts.get(queue, 0) + 1
        self.puts[queue] = max(self.puts.get(queue, 0), first + len(contents) - 1)
        props = encode_properties(Properties(Headers(list(headers.items())), expires=expires))
        slices = [props + content for content in contents]
        sizes = b"".join(len(x).to_bytes(4, "little") for x in slices)
        to = f"queue/{queue}"
        return Envelope(
            self.stream, to, first, first + len(contents) - 1, ("job",), len(contents), sizes,
            b"".join(slices), props=len(props).to_bytes(4, "little") * len(slices) if props else 0,
            flags=flags, to=to, put=put, expires=expires,
        )  # fmt: skip

    def state_of(self, queue: str, number: int) -> str:
        """Return the state of the latest answer."""
        domain, answers = f"queue/{queue}", reversed(self.answers)
        return next((a.state for a in answers if a.domain == domain and a.first <= number <= a.last), "")

    # --- taking -------------------------------------------------------------------------------------------

    def take(self, queue: str, number: int = 1, credit: int = 10, **more: Any) -> c.Reply:
        """Consume from a queue, and return the reply to CONSUME."""
        self._requests += 1
        request = self._requests
        held = [(stream, n) for stream, ends in more.get("held", ()) for n in _numbers(ends)]
        self.given[number], self.got[number], self.held[number] = len(held), [], held
        self.tries[number] = []
        self.say(c.Consume(request, number, f"queue/{queue}", credit, **more))
        self.net.until(lambda: self.said(request))
        reply = self.said(request)
        assert reply is not None
        return reply

    def leave(self, queue: str, number: int = 1, begun: int = 2**32 - 1) -> None:
        self._requests += 1
        self.say(c.Consume(self._requests, number, f"queue/{queue}", 0, begun=begun))
        self.net.until(lambda: self.said(self._requests))

    def settle(
        self, *done: int, entries: Any = (), number: int = 1, epoch: int = 0, wait: bool = True
    ) -> Any:
        """Settle deliveries. Return those that were not ok, an error code, or `None` without a reply."""
        self._requests += 1
        request = self._requests
        self.say(c.Settle(number, epoch or self.epoch, done, request=request, entries=entries))
        if not wait:
            return None
        self.net.until(lambda: self.said(request) or self.is_gone)
        reply = self.said(request)
        return reply and (reply.code or [tuple(each) for each in reply.value])


def _numbers(ends: tuple[int, ...]) -> list[int]:
    return [n for a, b in zip(ends[::2], ends[1::2], strict=True) for n in range(a, b + 1)]


def a_node(**settings: Any) -> tuple[SimNetwork, SimNode]:
    net = SimNetwork()
    (a,) = net.mesh("a", **settings)
    return net, a


def dead_letters(node: SimNode) -> int:
    every = c.Query("pattern", f"{DEAD_LETTERS}/#", "")
    return len(list(node.core.parts.router.log.retained.find_values(every, 0)))
