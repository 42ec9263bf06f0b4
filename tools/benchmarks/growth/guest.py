"""A client that sends commands to a node core like a real client, and counts its input."""

from array import array
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from mesh.proof import STREAM_KEY, stream_of
from mesh.wire import commands as c
from mesh.wire.envelope import FORCE_QUEUING, PERSISTENT, Envelope
from mesh.wire.frames import body_frames, read, write

CONTENT = b"x" * 100


class Line(Protocol):
    """The connections of clients to one node.

    `accept` opens a connection and returns the queue of messages from the node; `say` sends a message to the
    node.
    """

    def accept(self, key: Any) -> deque[list[bytes]]: ...
    def say(self, key: Any, frames: list[bytes]) -> None: ...


class Guest:
    """A client, which connects when it is created.

    It counts received messages (`got`), found values (`found`) and messages that are acknowledged with OK
    (`answered`).
    """

    __slots__ = (
        "_told",
        "answered",
        "found",
        "got",
        "have",
        "key",
        "line",
        "name",
        "news",
        "next",
        "taken",
        "token",
    )

    def __init__(self, line: Line, name: str, token: bytes = b"") -> None:
        self.line, self.name, self.key = line, name, f"from {name}"
        self.next, self.have, self.got, self.found, self.answered = 1, 0, 0, 0, 0
        self.taken: dict[int, int] = {}
        self.news: dict[int, int] = {}  # the part that is not yet acknowledged
        self.token = token
        self._told = line.accept(self.key)
        self.say(
            c.Hello(
                (1, 1),
                c.CLIENT,
                "",
                bytes(16),
                client=name,
                session=1,
                stream=self.stream,
                token=token,
                key=self._public,
            )
        )

    @property
    def stream(self) -> bytes:
        return stream_of(self._public)

    @property
    def _public(self) -> bytes:
        return self.name.encode().rjust(STREAM_KEY, b".")

    def say(self, command: c.Command, *envelopes: Envelope) -> None:
        self.line.say(self.key, write(command, envelopes))

    def subscribe(self, number: int, kind: str, text: str, **options: Any) -> None:
        self.taken[number] = 0
        self.say(c.Subscribe(number, number, c.Query(kind, text), **options))

    def get(self, kind: str, text: str) -> None:
        self.say(c.Call(1, "get", {"kind": kind, "text": text, "domain": ""}))

    def publish(self, keys: Sequence[str], *, persistent: bool = False, to: str = "") -> None:
        """Publish one envelope with a message for each key.

        With `to`, publish a direct message to that address; `keys` then has one entry, which is ignored.
        """
        flags = (PERSISTENT if persistent else 0) | (FORCE_QUEUING if to else 0)
        table = ("",) if to else tuple(keys)
        index = array("H", range(len(table))).tobytes() if len(table) > 1 else b""
        first, self.next = self.next, self.next + len(keys)
        e = Envelope(
            stream=self.stream,
            domain="",
            first=first,
            last=self.next - 1,
            keys=table,
            count=len(keys),
            sizes=len(CONTENT),
            body=CONTENT * len(keys),
            index=index,
            low=first,
            flags=flags,
            to=to,
        )
        self.say(c.Publish((body_frames(e),)), e)

    def read(self) -> bool:
        """Read all input, and return whether messages arrived.

        Raises AssertionError if the node refuses the session or a call.
        """
        before = self.have
        while self._told:
            command, envelopes = read(self._told.popleft())
            match command:
                case c.Items():
                    self._take(command, envelopes)
                case c.Answers():
                    self.answered += sum(a.last - a.first + 1 for a in command.answers if a.state == "OK")
                case c.Reply():
                    assert not command.code, f"{self.name} is refused: {command.text}"
                    self.found += len(envelopes)
                case c.Welcome():
                    self.token = command.token
                case c.Refuse():
                    raise AssertionError(f"{self.name} is refused: {command.reason}")
                case _:
                    pass
        return self.have > before

    def _take(self, items: c.Items, envelopes: list[Envelope]) -> None:
        self.have = items.seq
        for head, envelope in zip(items.heads, envelopes, strict=True):
            for number, column in head.targets:
                self.taken[number] += 1
                self.news[number] = self.taken[number]
                self.got += len(column) // 2 or envelope.count

    def drain(self, wait: Callable[[], object] = lambda: None) -> int:
        """Read and acknowledge all messages, and return their number; `wait` is called before each read."""
        before = self.got
        wait()
        while self.read():
            self.say(c.Ack(self.have, tuple(self.news.items())))
            self.news = {}
            wait()
        return self.got - before

    def bye(self) -> None:
        self.say(c.Bye("done"))
