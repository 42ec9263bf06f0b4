"""What a subscriber gets: messages, and batches of them as they travelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from mesh.errors import RemoteError
from mesh.values import Headers, Route, message_id
from mesh.wire.envelope import ERASED, INITIAL, Envelope
from mesh.wire.properties import Properties, decode_properties

UNREADABLE = "unreadable-properties"  # the header that says why a message has no other


class Message(Struct, eq=False):  # a Struct is made in a third of the time
    """One message: `key`, `content` (bytes), and what else is asked for, decoded only then."""

    _envelope: Envelope
    _index: int
    key: str
    content: bytes

    @property
    def id(self) -> str:
        """Names this message for ever, wherever it goes."""
        e = self._envelope
        return message_id(e.stream, e.domain, e.number(self._index))

    @property
    def domain(self) -> str:
        return self._envelope.domain

    @property
    def to(self) -> str:
        """The session or client that it was sent to; "" for what was published."""
        return self._envelope.to

    @property
    def headers(self) -> Headers:
        """The publisher's headers."""
        return self._properties().headers

    @property
    def priority(self) -> int:
        """0 (lowest) to 9."""
        return self._properties().priority

    @property
    def expires(self) -> int:
        """When it is void, ns since 1970; 0 = never."""
        return self._properties().expires

    @property
    def sender(self) -> str:
        """Absolute name of the publishing session."""
        return self._envelope.sender

    @property
    def route(self) -> Route:
        """The nodes it visited."""
        return self._envelope.route

    @property
    def sent(self) -> int:
        """When its first node took it, ns since 1970."""
        # The header's own stamp is the master's, who may have taken it much later.
        route = self._envelope.route
        return route[0].at if route else self._envelope.sent

    @property
    def persistent(self) -> bool:
        return self._envelope.persistent

    @property
    def state(self) -> str:
        """ "OK", "INITIAL": it was there before the subscription, or "ERASED": the topic was taken away."""
        return _state(self._envelope)

    @property
    def provisional(self) -> bool:
        """Whether its master has yet to confirm it (never, while every node is master of its own)."""
        return False

    @property
    def source(self) -> str:
        """Of what `get` found, the node where it was; else ""."""
        return ""

    @property
    def stale(self) -> float | None:
        """Of what `get` found, how many seconds its master has been out of reach; None: it is current."""
        return None

    def _properties(self) -> Properties:
        try:
            return decode_properties(self._envelope.message(self._index)[0])
        except RemoteError as error:  # a node of an earlier release took it so: nobody can read it any better
            return Properties(Headers([(UNREADABLE, error.what)]))

    def __repr__(self) -> str:
        return f"Message({self.key!r}, {self.content[:40]!r}, id={self.id!r})"


class FoundMessage(Message, eq=False):
    """One that `get` found, and where."""

    # Here only: what a subscription brings is made by the hundred thousand, and knows neither.
    _source: str
    _stale: float | None

    @classmethod
    def of(cls, m: Message, source: str, stale: float | None) -> FoundMessage:
        return cls(m._envelope, m._index, m.key, m.content, source, stale)

    @property
    def source(self) -> str:
        return self._source

    @property
    def stale(self) -> float | None:
        return self._stale


class Batch(Sequence[Message]):
    """Messages that came together; cheaper than one by one: `for m in batch`, `batch.contents()`."""

    def __init__(self, envelope: Envelope, indices: Sequence[int] | None = None, gap: int = 0) -> None:
        self._envelope = envelope
        self._indices = indices
        self.gap = gap  # messages that were dropped before this one, because the subscriber was behind

    def __len__(self) -> int:
        return self._envelope.count if self._indices is None else len(self._indices)

    @property
    def state(self) -> str:
        """That of each message in it."""
        return _state(self._envelope)

    def of(self, messages: Sequence[Message]) -> Batch:
        """These of its messages."""
        return Batch(self._envelope, [message._index for message in messages])

    def __getitem__(self, i: int) -> Message:  # type: ignore[override]
        index = range(self._envelope.count)[i] if self._indices is None else self._indices[i]
        e = self._envelope
        return Message(e, index, e.keys[e.row(index)], e.message(index)[1])

    def __iter__(self) -> Iterator[Message]:
        e = self._envelope
        if self._indices is not None:
            return (self[i] for i in range(len(self._indices)))
        contents = e.contents()
        if len(e.keys) == 1:
            key = e.keys[0]
            return (Message(e, i, key, content) for i, content in enumerate(contents))
        keys, rows = e.keys, e.rows()
        return (Message(e, i, keys[rows[i]], content) for i, content in enumerate(contents))

    def contents(self) -> list[bytes]:
        """The content of each message."""
        if self._indices is None:
            return self._envelope.contents()
        return [self._envelope.message(i)[1] for i in self._indices]


def _state(envelope: Envelope) -> str:
    if envelope.flags & ERASED:
        return "ERASED"
    return "INITIAL" if envelope.flags & INITIAL else "OK"
