"""What a subscriber gets: messages, and batches of them as they travelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic

from msgspec import UNSET, Struct

from mesh.client.codecs import JSON, Codec, codec_of
from mesh.client.content import Content, Headings
from mesh.client.making import SENDER, made
from mesh.client.reading import WHATEVER, ContentReader, bad_content, reader_of, untyped
from mesh.errors import RemoteError
from mesh.reserved import DEAD_SENDER, OF_MESH
from mesh.values import Headers, Route, message_id
from mesh.wire.envelope import ERASED, INITIAL, PROVISIONAL, RETRACTED, Envelope
from mesh.wire.properties import Properties, decode_properties

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # of the type checker, which brings it along

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

GONE = {"ERASED": "the topic was taken away", "RETRACTED": "its master did not take it"}
UNREADABLE = "unreadable-properties"  # the header that says why a message has no other


class Message(Struct, Generic[T], eq=False):  # a Struct is made in a third of the time
    """One message: `key`, `content` (bytes), and what else is asked for, decoded only then."""

    _envelope: Envelope
    _index: int
    key: str
    content: bytes

    @classmethod
    def make(  # noqa: PLR0913
        cls,
        key: str,
        content: Content = b"",
        *,
        domain: str | None = None,
        headers: Headings = None,
        persistent: bool = False,
        expiry: float | None = None,
        priority: int = 5,
        sender: str = SENDER,
        to: str = "",
        state: str = "OK",
        route: Iterable[str] = ("a",),
        codec: Codec | str = "json",
        type: Any = None,
    ) -> Message[Any]:
        """A message as a subscriber would get it, for tests of what takes messages. Each has its own id.

        The content, and what is said of it, as for `publish`; `sender` and `to` are names of sessions,
        `route` those of nodes, `state` as below; `codec` and `type` as for `connect` and `subscribe`.
        Raises what `publish` raises, BadName.
        """
        written = codec_of(codec)
        envelope = made(
            key, content, domain, headers, persistent, expiry, priority, sender, to, state, route, written
        )
        reader, said = reader_of(written, type), envelope.message(0)[1]
        if reader is None:
            return Message(envelope, 0, key, said)
        return TypedMessage(envelope, 0, key, said, reader)

    @property
    def value(self) -> T:
        """The value in the content: by its content-type, and as the `type` that was asked for. BadContent.

        Without either it is the content as it was published: a str or bytes. With a type it is decoded once,
        else as often as it is asked for.
        """
        return self._value_by(WHATEVER)  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        """The content as text, which is UTF-8; else BadContent."""
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            raise bad_content(self.key, self.sender, error) from None

    def json(self) -> Any:
        """The content as JSON, whatever its content-type says; else BadContent. At most 4 MiB of it."""
        try:
            return untyped(self.content, JSON)
        except (ValueError, RecursionError) as error:
            raise bad_content(self.key, self.sender, error) from None

    def _value_by(self, reader: ContentReader) -> Any:
        if self.state in GONE:
            why = f'{GONE[self.state]}, so there is no value (its state is "{self.state}")'
            raise bad_content(self.key, self.sender, why)
        try:
            own = self._properties()
            return reader.value(self.content, own.headers, own.is_text)
        except MemoryError:
            raise
        except Exception as error:  # a codec of the user's own may raise anything
            raise bad_content(self.key, self.sender, error) from error

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
        """Absolute name of the publishing session; of a dead letter, of who published what it was."""
        sender = self._envelope.sender
        if sender.endswith(OF_MESH):
            return self.headers.get(DEAD_SENDER, sender)
        return sender

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
        """ "OK", "INITIAL": it was there before the subscription, "ERASED": the topic was taken away, or
        "RETRACTED": one that was `provisional` was not taken by its master, which this one stands for."""
        return _state(self._envelope)

    @property
    def provisional(self) -> bool:
        """Has its master yet to take it? Only where a rule has `dirty_read`. It comes once: nothing more is
        said of it, unless it is "RETRACTED"."""
        return bool(self._envelope.flags & PROVISIONAL)

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


class TypedMessage(Message[T], eq=False):
    """One that is read as its subscription wants it; the value is decoded once."""

    # Here only: what nobody reads in such a way is made by the hundred thousand.
    _reader: ContentReader = WHATEVER
    _value: Any = UNSET

    @property
    def value(self) -> T:
        if self._value is UNSET:
            self._value = self._value_by(self._reader)
        return self._value  # type: ignore[no-any-return]


class FoundMessage(TypedMessage[T], eq=False):
    """One that `get` found, and where."""

    _source: str = ""
    _stale: float | None = None

    @classmethod
    def of(
        cls, m: Message[Any], source: str, stale: float | None, reader: ContentReader = WHATEVER
    ) -> FoundMessage[T]:
        return cls(m._envelope, m._index, m.key, m.content, reader, UNSET, source, stale)

    @property
    def source(self) -> str:
        return self._source

    @property
    def stale(self) -> float | None:
        return self._stale


class Batch(Sequence[Message[T]]):
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

    def of(self, messages: Sequence[Message[Any]]) -> Batch:
        """These of its messages."""
        return Batch(self._envelope, [message._index for message in messages])

    def __getitem__(self, i: int) -> Message[T]:  # type: ignore[override]
        index = range(self._envelope.count)[i] if self._indices is None else self._indices[i]
        e = self._envelope
        return Message(e, index, e.keys[e.row(index)], e.message(index)[1])

    def __iter__(self) -> Iterator[Message[T]]:
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


class TypedBatch(Batch[T]):
    """One whose messages are read as their subscription wants it."""

    def __init__(self, batch: Batch[Any], reader: ContentReader) -> None:
        super().__init__(batch._envelope, batch._indices, batch.gap)
        self._reader = reader

    def __getitem__(self, i: int) -> Message[T]:  # type: ignore[override]
        return self._typed(super().__getitem__(i))

    def __iter__(self) -> Iterator[Message[T]]:
        return map(self._typed, super().__iter__())

    def of(self, messages: Sequence[Message[Any]]) -> TypedBatch[T]:
        """These of its messages, behind the same gap."""
        return TypedBatch(Batch(self._envelope, [m._index for m in messages], self.gap), self._reader)

    def _typed(self, m: Message[T]) -> Message[T]:
        return TypedMessage(m._envelope, m._index, m.key, m.content, self._reader)


def _state(envelope: Envelope) -> str:
    if envelope.flags & ERASED:
        return "ERASED"
    if envelope.flags & RETRACTED:
        return "RETRACTED"
    return "INITIAL" if envelope.flags & INITIAL else "OK"
