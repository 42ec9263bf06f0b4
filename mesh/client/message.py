"""Messages as a subscriber receives them. Their content and properties are decoded on access."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic

from msgspec import UNSET, Struct

from mesh.client.codecs import JSON, Codec, codec_of
from mesh.client.content import Content, Headings
from mesh.client.making import SENDER, made
from mesh.client.reading import WHATEVER, ContentReader, bad_content, reader_of, untyped
from mesh.errors import RemoteError
from mesh.reserved import DEAD_SENDER, OF_MESH
from mesh.values import Headers, Route, message_id
from mesh.wire.envelope import ERASED, INITIAL, LATE, PROVISIONAL, RETRACTED, Envelope
from mesh.wire.properties import Properties, decode_properties

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # installed with the type checker

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

GONE = {"ERASED": "the topic was erased", "RETRACTED": "its master refused it"}
UNREADABLE = "unreadable-properties"  # header with the reason of missing properties


class Message(Struct, Generic[T], eq=False):  # a Struct is created three times faster
    """A received message. Everything except `key` and `content` (bytes) is decoded on access.

    Example:
        async for message in messages:
            print(message.key, message.value, message.headers.get("unit"))
    """

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
        """Create a message as a subscriber would receive it, for tests. Each message has its own id.

        Args:
            key: The topic's key.
            content: The content. This and the arguments not named here are as for `publish`.
            sender: The absolute name of the publishing session.
            to: The session or client to which the message was sent; "" for a published message.
            state: "OK", "INITIAL", "ERASED" or "RETRACTED".
            route: Names of the nodes that the message visited.
            codec: As for `connect`.
            type: As for `subscribe`.

        Raises:
            BadKey, BadName, BadType, BadArgument: An argument is invalid.
            PublishRefused: The key or domain is reserved for the mesh.

        Example:
            message = Message.make("sensors/kitchen/temp", 21.5)
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
        """The content, decoded according to its content-type and the requested `type`. Raises: BadContent.

        Without a content-type and a type, the value is the content as published: a str or bytes. With a type,
        the content is decoded once; without one, possibly at each access.
        """
        return self._value_by(WHATEVER)  # type: ignore[no-any-return]

    @property
    def text(self) -> str:
        """The content as text. Raises: BadContent if it is not UTF-8."""
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            raise bad_content(self.key, self.sender, error) from None

    def json(self) -> Any:
        """Return the content decoded as JSON, whatever its content-type.

        Raises:
            BadContent: The content is not JSON, or larger than 4 MiB.
        """
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
        except Exception as error:  # custom codecs may raise any exception
            raise bad_content(self.key, self.sender, error) from error

    @property
    def id(self) -> str:
        """The id of this message, unique across the mesh and unchanged wherever the message travels."""
        e = self._envelope
        return message_id(e.stream, e.domain, e.number(self._index))

    @property
    def domain(self) -> str:
        """The domain of the message's topic; "" for none."""
        return self._envelope.domain

    @property
    def to(self) -> str:
        """The session, client, address or queue that the message was sent to; "" for a published message."""
        return self._envelope.to

    @property
    def headers(self) -> Headers:
        """The publisher's headers."""
        return self._properties().headers

    @property
    def priority(self) -> int:
        """The priority, 0 (lowest) to 9."""
        return self._properties().priority

    @property
    def expires(self) -> int:
        """The time at which the message expires, in ns since 1970; 0 = never."""
        return self._properties().expires

    @property
    def sender(self) -> str:
        """The absolute name of the publishing session; for a dead letter that of the original publisher."""
        sender = self._envelope.sender
        if sender.endswith(OF_MESH):
            return self.headers.get(DEAD_SENDER, sender)
        return sender

    @property
    def route(self) -> Route:
        """The nodes that the message visited."""
        return self._envelope.route

    @property
    def sent(self) -> int:
        """The time at which the first node accepted the message, in ns since 1970."""
        # The envelope's own timestamp is the master's, which may be much later.
        route = self._envelope.route
        return route[0].at if route else self._envelope.sent

    @property
    def persistent(self) -> bool:
        """Whether the message is persistent: its master stores it on disk before confirming it."""
        return self._envelope.persistent

    @property
    def state(self) -> str:
        """The kind of message: "OK", "INITIAL", "ERASED" or "RETRACTED".

        "INITIAL" is a retained value from before the subscription. "ERASED" means that the topic was deleted,
        and "RETRACTED" that the master did not accept the `provisional` message of the same id.
        """
        return state_of(self._envelope)

    @property
    def late(self) -> bool:
        """True if a newer message of the same publisher and domain arrived before this one or its batch.

        Order holds for each master. A message is late if its master was unreachable for a while, and others
        took its place: in a domain without a rule, after the publisher's node failed.
        """
        return bool(self._envelope.flags & LATE)

    @property
    def provisional(self) -> bool:
        """Whether the message arrived before its master accepted it, under a rule with `dirty_read`.

        An accepted message is not delivered again. A refused one is followed by a "RETRACTED" message.
        """
        return bool(self._envelope.flags & PROVISIONAL)

    @property
    def source(self) -> str:
        """The node that had the value, in a result of `get`; otherwise ""."""
        return ""

    @property
    def stale(self) -> float | None:
        """The seconds for which the master has been unreachable, in a result of `get`.

        None: the value is current, or the message is not a result of `get`.
        """
        return None

    def _properties(self) -> Properties:
        try:
            return decode_properties(self._envelope.message(self._index)[0])
        except RemoteError as error:  # accepted by a node of an earlier release
            return Properties(Headers([(UNREADABLE, error.what)]))

    def __repr__(self) -> str:
        return f"Message({self.key!r}, {self.content[:40]!r}, id={self.id!r})"


class TypedMessage(Message[T], eq=False):
    """A message whose value is decoded once, as the type that the subscriber requested."""

    # These fields are not in Message, because untyped messages are created by the hundred thousand.
    _reader: ContentReader = WHATEVER
    _value: Any = UNSET

    @property
    def value(self) -> T:
        """The content as an instance of the requested type. Raises: BadContent."""
        if self._value is UNSET:
            self._value = self._value_by(self._reader)
        return self._value  # type: ignore[no-any-return]


class FoundMessage(TypedMessage[T], eq=False):
    """A message that `get` found, with the node that had it."""

    _source: str = ""
    _stale: float | None = None

    @classmethod
    def of(
        cls, m: Message[Any], source: str, stale: float | None, reader: ContentReader = WHATEVER
    ) -> FoundMessage[T]:
        """Return the message `m` with the node that had it, and its staleness in s."""
        return cls(m._envelope, m._index, m.key, m.content, reader, UNSET, source, stale)

    @property
    def source(self) -> str:
        """The node that had the value; "" if that node is of an earlier release."""
        return self._source

    @property
    def stale(self) -> float | None:
        """The seconds for which the master has been unreachable; None if the value is current."""
        return self._stale


def state_of(envelope: Envelope) -> str:
    """Return the `state` of each message in `envelope`."""
    if envelope.flags & ERASED:
        return "ERASED"
    if envelope.flags & RETRACTED:
        return "RETRACTED"
    return "INITIAL" if envelope.flags & INITIAL else "OK"
