"""Headers, routes, ids, keys, domains and answers of messages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, overload

from msgspec import Meta, Struct

from mesh.errors import BadKey, BadName, LocalError
from mesh.shortening import shown

LONGEST_KEY = 512  # characters
LONGEST_DOMAIN = 256  # characters
CARRIED = ("key", "group", "reason")  # texts that users may fill with data
PRIORITY = 5  # of a message in a queue, unless its producer sets another

# Lone surrogates are included, because UTF-8 cannot encode them and sending would fail.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_MESSAGE_ID = re.compile(r"([0-9a-f]{32})(?:/(.+))?:([1-9][0-9]{0,18})", re.DOTALL)


class Headers:
    """The user's headers: an immutable multimap of str to str, whose names ignore case.

    Two objects are equal if each name has the same values in the same order; the order of names does not
    matter. Names keep their spelling. Raises TypeError for anything but pairs of str.

    Example:
        headers = Headers({"unit": "C"})
        headers["Unit"]
    """

    __slots__ = ("_pairs",)

    def __init__(self, items: "Iterable[tuple[str, str]] | Mapping[str, str] | Headers" = ()) -> None:
        pairs = items.items() if isinstance(items, Mapping | Headers) else items
        self._pairs = tuple(map(_pair, pairs))

    def __getitem__(self, name: str) -> str:
        """Return the first value of that name. Raises: KeyError."""
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    @overload
    def get(self, name: str) -> str | None: ...
    @overload
    def get(self, name: str, default: str) -> str: ...
    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a header.

        Args:
            name: The name of the header, in any case.
            default: Result if there is no such header. Default: `None`.

        Example:
            trace = message.headers.get("trace-id", "")
        """
        return next(self._values(name), default)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a header, in the order in which they were set.

        Args:
            name: The name of the header, in any case.
        """
        return tuple(self._values(name))

    def items(self) -> Iterator[tuple[str, str]]:
        """Return an iterator over all names and values, in order and as spelled."""
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[str]:
        """Yield each name once, in its first spelling."""
        names: dict[str, str] = {}
        for name, _ in self._pairs:
            names.setdefault(name.lower(), name)
        return iter(names.values())

    def keys(self) -> list[str]:
        """Return each name once, so that `dict(headers)` has the first value of each name."""
        return list(self)

    def __contains__(self, name: str) -> bool:
        return next(self._values(name), None) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Headers):
            return NotImplemented
        return self._pairs == other._pairs or self._by_name() == other._by_name()

    def __hash__(self) -> int:
        return hash(frozenset((name, tuple(values)) for name, values in self._by_name().items()))

    def __repr__(self) -> str:
        return f"Headers({list(self._pairs)!r})"

    def _values(self, name: str) -> Iterator[str]:
        # A message has few headers, so a scan costs less than an index.
        wanted = name.lower()
        return (value for name, value in self._pairs if name.lower() == wanted)

    def _by_name(self) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for name, value in self._pairs:
            values.setdefault(name.lower(), []).append(value)
        return values


def _pair(item: object) -> tuple[str, str]:
    match item:
        case (str(name), str(value)):
            return name, value
    raise TypeError(f"A header is a pair of strings, a name and a value, not {repr(item)[:80]}")


NO_HEADERS = Headers()


Uint63 = Annotated[int, Meta(ge=0, le=2**63 - 1)]  # checked when read from the wire


class Hop(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A node that a message visited: its stratum, and the time in ns since 1970."""

    node: str
    stratum: Uint63
    at: Uint63


Route = tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """The answer to a publish.

    OK: the master has the message. FORWARD_WARNING: the message was accepted and waits at a node for its
    master. `matched` counts the subscriptions that the master found (-1: no longer known), and `note` says
    why the message waits.
    """

    state: Literal["OK", "FORWARD_WARNING"]
    id: str
    matched: int
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the master has the message."""
        return self.state == "OK"


def message_id(stream: bytes, domain: str, number: int) -> str:
    """Return the id of a message: `<stream in hex>/<domain>:<number>`, without `/` if there is no domain.

    `stream` is the 16-byte stream id of the publishing session, `number` the sequence number in the domain,
    from 1.
    """
    return f"{stream.hex()}/{domain}:{number}" if domain else f"{stream.hex()}:{number}"


def parse_message_id(text: str) -> tuple[bytes, str, int]:
    """Return the stream, domain and number of a message id. Raises: BadName."""
    found = _MESSAGE_ID.fullmatch(text)
    if found is None:
        raise BadName(
            f"{text[:80]!r} is not a message id.",
            hint="Write 32 hexadecimal digits, then /DOMAIN if it has one, then :NUMBER",
        )
    return bytes.fromhex(found[1]), found[2] or "", int(found[3])


def check_key(key: str) -> str:
    """Return the key if a message can be published under it. Raises: BadKey."""
    if key == "":
        raise BadKey("The key is empty.", hint="Name a topic, such as sensors/kitchen/temp")
    check_text(key, "key", LONGEST_KEY, BadKey)
    if "+" in key or "#" in key:
        for level in key.split("/"):
            if level in ("+", "#"):
                raise BadKey(
                    f"The key {key[:80]!r} contains the wildcard {level!r} as a level.",
                    hint="A key names one topic. For many, subscribe to a pattern, with # only at the end.",
                )
    return key


def check_domain(domain: str) -> str:
    """Return the domain if it is valid ("" is no domain). Raises: BadKey."""
    try:
        return _domain(domain)
    except TypeError:  # not hashable
        check_text(domain, "domain", LONGEST_DOMAIN, BadKey)
        raise


@lru_cache(maxsize=1024)  # few distinct domains; errors are not cached
def _domain(domain: str) -> str:
    check_text(domain, "domain", LONGEST_DOMAIN, BadKey)
    return domain


def messages(count: int) -> str:
    """Return a number of messages as text, such as "1 message" or "1,234 messages"."""
    return f"{count:,} message{'s' * (count != 1)}"


def check_path(what: str, path: str, error: type[LocalError]) -> None:
    """Raise `error` for a path that no file system accepts. `what` names the path in the text."""
    found = re.search(r"[\0\ud800-\udfff]", path)
    if found is not None:
        raise error(f"{what}: a path cannot have the character {found[0]!r}.")


def check_text(text: str, what: str, longest: int, error: type[LocalError]) -> None:
    """Raise `error` unless `text` is a str of at most `longest` characters.

    Control characters and lone surrogates are refused, too. `what` names the text in the error.
    """
    try:  # faster than a type check per envelope
        found = _UNPRINTABLE.search(text)
    except TypeError:
        raise error(f"The {what} must be a str, not {type(text).__name__}: {shown(text)}.") from None
    if len(text) > longest:
        raise error(
            f"The {what} {text[:40]!r}... has {len(text)} characters.",
            hint=f"The limit is {longest}{'; put long data into the content' if what in CARRIED else ''}.",
        )
    if found is not None:
        raise error(
            f"The {what} {text[:80]!r} holds {found[0]!r} at position {found.start()}.",
            hint="Control characters and lone surrogates are not allowed. It may be binary data, "
            "or have a line end.",
        )
