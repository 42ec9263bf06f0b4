"""A simulated client that serves and requests, by wire commands."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mesh.names import SENDS
from mesh.proof import stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import REPLY, REQUEST, Envelope
from mesh.wire.frames import body_frames, read, write
from mesh.wire.limits import SERVICES
from mesh.wire.properties import Properties, decode_properties, encode_properties
from tests.simulation import SimNode

REPLIES = 2**32 - 1
SPEAKS = (SERVICES,)


class User:
    """A client at a node."""

    speaks: tuple[str, ...] = SPEAKS

    def __init__(self, node: SimNode, name: str, key: bytes = b"") -> None:
        self.net, self.node = node.net, node
        self.name = name
        self.key = (key or name.encode()).ljust(32, b"-")
        self.stream = stream_of(self.key)
        self.got: dict[int, list[tuple[int, bytes]]] = {}  # by subscription: (delivery tag, content)
        self.given: dict[int, int] = {}
        self.asked: dict[tuple[int, int], tuple[bytes, int]] = {}  # (subscription, tag) -> stream, number
        self.replies: list[tuple[int, bytes, str, str]] = []  # number, content, code, sender
        self.answers: list[c.Answer] = []
        self.rows: list[c.Row] = []
        self.epochs: dict[int, int] = {}
        self.heard: list[c.Command] = []
        self._replied: dict[int, c.Reply] = {}  # by request
        self.ttls: list[int] = []
        self.is_gone = False
        self.is_silent = False  # sends no ACK
        self.is_blocked = False  # sends no PING, as with a blocked event loop
        self.session = ""
        self.token = b""
        self.seq = 0
        self.taken: dict[int, int] = {}
        self.number = 0
        self.low = 1
        self._requests = 0
        self.connect()

    def connect(self, boot_seen: int = 0) -> None:
        number = int(self.session.rsplit("/", 1)[1]) if self.session else 0
        self.is_gone, self.session = False, ""
        self._pipe = self.net.connect(self, 1, self.node.ipc)
        self.say(
            c.Hello(
                (1, 2), c.CLIENT, "", b"n" * 16, client=self.name, session=number, token=self.token,
                key=self.key, stream=self.stream, speaks=self.speaks, boot_seen=boot_seen,
                have=self.seq if boot_seen else 0,
            )
        )  # fmt: skip
        self.net.until(lambda: self.session)
        self._stay()

    def _stay(self) -> None:
        if not self.is_gone:
            if not self.is_blocked:
                self.say(c.Ping(1))
            self.net.after(3.0, self._stay)

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        assert self._pipe is not None
        self._pipe.send(0, write(command, envelopes))

    def vanish(self) -> None:
        """Break the connection, and let the node notice."""
        assert self._pipe is not None
        key = next(key for key, pipe in self.node.came_in.items() if pipe is self._pipe)
        self.is_gone = True
        self._pipe.lose()
        self.node.on_closed(key)  # as ZeroMQ reports soon
        self.net.run(0.1)

    def hear(self, key: Hashable, frames: list[bytes]) -> None:
        command, envelopes = read(frames)
        self.heard.append(command)
        match command:
            case c.Welcome():
                self.session, self.token = command.session, command.token
            case c.Answers():
                self.answers += command.answers
            case c.Serving():
                self.rows += command.rows
            case c.Reply():
                self._replied[command.request] = command
                if isinstance(command.value, dict) and "epoch" in command.value:
                    self.epochs[command.request] = command.value["epoch"]
            case c.Items():
                self._items(command, envelopes)

    def _items(self, command: c.Items, envelopes: list[Envelope]) -> None:
        self.seq = command.seq
        for head, e in zip(command.heads, envelopes, strict=True):
            for number, column in head.targets:
                indices = list(memoryview(column).cast("H")) if column else list(range(e.count))
                if number == REPLIES:
                    assert e.flags == REPLY
                    self._replies(e, indices)
                else:
                    self._given(number, e, indices)
                    self.ttls.append(head.ttl)
                self.taken[number] = self.taken.get(number, 0) + 1
        if not self.is_silent:
            self.say(c.Ack(self.seq, ((REPLIES, self.taken.get(REPLIES, 0)),)))

    def _replies(self, e: Envelope, indices: list[int]) -> None:
        for i in indices:
            props, content = e.message(i)
            self.replies.append((e.number(i), content, decode_properties(props).code, e.sender))

    def _given(self, number: int, e: Envelope, indices: list[int]) -> None:
        for i in indices:
            count = self.given[number] = self.given.get(number, 0) + 1
            self.got.setdefault(number, []).append((count, e.message(i)[1]))
            self.asked[number, count] = e.stream, e.number(i)

    def on_closed(self, key: Hashable) -> None:
        self.is_gone = True

    # --- serving ------------------------------------------------------------------------------------------

    def serve(self, address: str, number: int = 1, credit: int = 64, local_only: bool = False) -> int:
        """Serve an address. Return the request, which is the key of its epoch in `epochs`."""
        self._requests += 1
        self.given[number] = 0
        self.say(c.Consume(self._requests, number, address, credit, local_only))
        self.net.until(lambda: self.said(self._requests))
        return self._requests

    def said(self, request: int) -> c.Reply | None:
        return self._replied.get(request)

    def unserve(self, address: str, number: int = 1, begun: int = 2**32 - 1) -> None:
        self._requests += 1
        self.say(c.Consume(self._requests, number, address, 0, begun=begun))
        self.net.until(lambda: self.said(self._requests))

    @property
    def epoch(self) -> int:
        return list(self.epochs.values())[-1]

    def reply(self, *pairs: tuple[int, bytes], number: int = 1, code: str = "", epoch: int = 0) -> None:
        """Reply to the deliveries with these tags."""
        props = encode_properties(Properties(code=code))
        body = [props + content for _, content in pairs]
        sizes = b"".join(len(x).to_bytes(4, "little") for x in body)
        column = len(props).to_bytes(4, "little") * len(pairs) if props else 0
        n, whole = len(pairs), b"".join(body)
        e = Envelope(self.stream, "r", 1, n, ("",), n, sizes, whole, props=column, to="x")
        counts = tuple(count for count, _ in pairs)
        self.say(c.Settle(number, epoch or self.epoch, (), counts, (body_frames(e),)), e)

    def done(self, *ranges: int, number: int = 1, epoch: int = 0) -> None:
        self.say(c.Settle(number, epoch or self.epoch, ranges))

    def contents(self, number: int = 1) -> list[bytes]:
        return [content for _, content in self.got.get(number, [])]

    # --- asking -------------------------------------------------------------------------------------------

    def send(self, to: str, *contents: bytes, flags: int = 0, ttl: int = 0, **more: Any) -> int:
        """Send messages, and return the number of the first."""
        first = self.number + 1
        self.number += len(contents)
        self.publish(to, first, contents, flags, ttl, **more)
        return first

    def publish(
        self, to: str, first: int, contents: tuple[bytes, ...], flags: int = 0, ttl: int = 0, **more: Any
    ) -> None:
        sizes = b"".join(len(x).to_bytes(4, "little") for x in contents)
        e = Envelope(
            self.stream, SENDS, first, first + len(contents) - 1, ("",), len(contents), sizes,
            b"".join(contents), flags=flags, low=self.low, to=to, **more,
        )  # fmt: skip
        self.say(c.Publish((body_frames(e),), (ttl,)), e)

    def request(self, to: str, *contents: bytes, ttl: int = 5000, flags: int = 0) -> int:
        return self.send(to, *contents, flags=REQUEST | flags, ttl=ttl)

    def state(self, number: int) -> str:
        """Return the state of the latest answer."""
        return next((a.state for a in reversed(self.answers) if a.first <= number <= a.last), "")

    def codes(self) -> dict[int, str]:
        """Return the codes of the replies, by number."""
        return {number: code for number, _, code, _ in self.replies}

    def fate(self, number: int) -> str:
        """Return the error code of the reply, if there is one, else the state of the answer."""
        return self.codes().get(number) or self.state(number)

    def watch(self, version: int, *names: str, full: bool = True) -> None:
        self.say(c.Watch(version, full, False, tuple(("address", name) for name in names)))
