"""What travels: messages that one session published in a row with one qos, in one piece.

The header says who, which stream and numbers, which keys and how long each message is; the body is
the messages end to end. A router reads the header and hands the body on untouched. Only where ways
differ is an envelope cut, by lengths, without decoding a message.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from mesh.errors import RemoteError
from mesh.values import Hop, Route
from mesh.wire.codec import pack, unpack
from mesh.wire.limits import CONTROL_FRAME, MAX_CONTENT_EVER

PERSISTENT = 1  # flag bits
LOCAL_ONLY = 2
INITIAL = 4  # a retained value given to a new subscriber, not a fresh publish

HEADER_FIELDS = 15


@dataclass(frozen=True, slots=True)
class Envelope:
    """Messages of one stream; numbers `first`..`last` unless `numbers` says which of them it holds.

    `index` holds a row of `keys` for each message (u16, empty when there is one key), `sizes` the
    length of each slice of the body (one int when all are alike, else u32 each), `props` how much of
    each slice is the message's own properties (0 when none has any).
    """

    stream: bytes  # 16 bytes, made by the client library for one session
    domain: str
    first: int
    last: int
    keys: tuple[str, ...]
    count: int
    sizes: int | bytes
    body: bytes
    index: bytes = b""
    props: int | bytes = 0
    flags: int = 0
    low: int = 1  # everything below is settled: the publisher will never resend it
    sender: str = ""  # absolute session name, written by the ingress node
    sent: int = 0  # hybrid clock of the ingress, ns since 1970
    expires: int = 0  # earliest expiry of a message in it, ns since 1970; 0 = never
    route: Route = ()
    numbers: tuple[int, ...] = ()  # of a cut piece: first, last, first, last, …
    _offsets: list[array[int]] = field(default_factory=list, compare=False, repr=False)

    @property
    def persistent(self) -> bool:
        return bool(self.flags & PERSISTENT)

    def row(self, i: int) -> int:
        """Which of `keys` message `i` has."""
        return _u16(self.index)[i] if self.index else 0

    def rows(self) -> Sequence[int]:
        """The row of each message."""
        return _u16(self.index) if self.index else bytes(self.count)

    def number(self, i: int) -> int:
        """The number of message `i` in its stream."""
        if not self.numbers:
            return self.first + i
        for first, last in self.ranges():
            if i <= last - first:
                return first + i
            i -= last - first + 1
        raise IndexError(i)

    def ranges(self) -> list[tuple[int, int]]:
        """The numbers it holds, as (first, last) pairs."""
        if not self.numbers:
            return [(self.first, self.last)]
        return list(zip(self.numbers[::2], self.numbers[1::2], strict=True))

    def slice(self, i: int) -> tuple[int, int]:
        """Where message `i` lies in the body: (start, end)."""
        if isinstance(self.sizes, int):
            return i * self.sizes, (i + 1) * self.sizes
        ends = self._ends()
        return (ends[i - 1] if i else 0), ends[i]

    def _ends(self) -> array[int]:
        if not self._offsets:  # computed once, kept beside the frozen fields
            assert isinstance(self.sizes, bytes)
            self._offsets.append(array("Q", accumulate(_u32(self.sizes))))
        return self._offsets[0]

    def props_size(self, i: int) -> int:
        return _u32(self.props)[i] if isinstance(self.props, bytes) else self.props

    def message(self, i: int) -> tuple[bytes, bytes]:
        """(own properties, content) of message `i`."""
        start, end = self.slice(i)
        middle = start + self.props_size(i)
        return self.body[start:middle], self.body[middle:end]

    def contents(self) -> list[bytes]:
        """The content of every message, in order."""
        if isinstance(self.sizes, int) and self.props == 0:
            size = self.sizes
            if not size:
                return [b""] * self.count
            return [self.body[at : at + size] for at in range(0, len(self.body), size)]
        return [self.message(i)[1] for i in range(self.count)]

    def header(self) -> bytes:
        """The header frame."""
        return pack(
            [
                self.stream, self.domain, self.first, self.last, self.keys, self.count, self.sizes,
                self.index, self.props, self.flags, self.low, self.sender, self.sent, self.expires,
                [[(h.node, h.stratum, h.at) for h in self.route], self.numbers],
            ]
        )  # fmt: skip

    def stamped(self, sender: str, sent: int, hop: Hop) -> Envelope:
        """As it leaves its ingress node."""
        return replace(self, sender=sender, sent=sent, route=(hop,))

    def cut(self, indices: Sequence[int]) -> Envelope:
        """The piece that holds only these messages (growing indices)."""
        if len(indices) == self.count:
            return self
        slices = [self.slice(i) for i in indices]
        rows = self.rows()
        used = sorted({rows[i] for i in indices})
        place = {row: at for at, row in enumerate(used)}
        sizes = array("I", [end - start for start, end in slices])
        props = array("I", [self.props_size(i) for i in indices])
        return replace(
            self,
            keys=tuple(self.keys[row] for row in used),
            index=array("H", [place[rows[i]] for i in indices]).tobytes() if len(used) > 1 else b"",
            count=len(indices),
            sizes=sizes.tobytes(),
            props=props.tobytes() if any(props) else 0,
            body=b"".join([self.body[start:end] for start, end in slices]),
            numbers=tuple(_as_ranges(self.number_list(indices))),
            _offsets=[],
        )

    def number_list(self, indices: Iterable[int]) -> list[int]:
        """The numbers of several messages at once."""
        if not self.numbers:
            return [self.first + i for i in indices]
        every = [n for first, last in self.ranges() for n in range(first, last + 1)]
        return [every[i] for i in indices]


def _as_ranges(numbers: Sequence[int]) -> list[int]:
    flat: list[int] = []
    for number in numbers:
        if flat and number == flat[-1] + 1:
            flat[-1] = number
        else:
            flat += [number, number]
    return flat


def _u16(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("H")


def _u32(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("I")


def decode(header: bytes, body: bytes, max_content: int = MAX_CONTENT_EVER) -> Envelope:
    """An envelope from its frames; RemoteError when header and body do not fit each other."""
    fields = unpack(header, CONTROL_FRAME)
    if not isinstance(fields, list) or len(fields) < HEADER_FIELDS:
        raise RemoteError(
            f"envelope header of {len(header)} bytes is not an array of {HEADER_FIELDS}", code="MALFORMED"
        )
    try:
        envelope = _from_fields(fields, body)
        _verify(envelope, max_content)
    except (TypeError, ValueError, IndexError, AssertionError, OverflowError) as error:
        raise RemoteError(f"envelope header does not hold together: {error}", code="MALFORMED") from error
    return envelope


def _from_fields(fields: list[Any], body: bytes) -> Envelope:
    stream, domain, first, last, keys, count, sizes, index, props, flags, low = fields[:11]
    sender, sent, expires, (route, numbers) = fields[11:HEADER_FIELDS]
    return Envelope(
        stream=stream, domain=domain, first=first, last=last, keys=tuple(keys), count=count, sizes=sizes,
        body=body, index=index, props=props, flags=flags, low=low, sender=sender, sent=sent, expires=expires,
        route=tuple([Hop(node, stratum, at) for node, stratum, at in route]), numbers=tuple(numbers),
    )  # fmt: skip


def _verify(e: Envelope, max_content: int) -> None:
    """Every law that the router relies on later. Raises ValueError or TypeError."""
    _need(isinstance(e.stream, bytes) and len(e.stream) == 16, "stream id is not 16 bytes")
    _need(isinstance(e.domain, str) and isinstance(e.sender, str), "domain and sender are text")
    _need(all(isinstance(k, str) for k in e.keys) and len(e.keys) > 0, "keys are text")
    for number in (e.first, e.last, e.count, e.flags, e.low, e.sent, e.expires):
        _need(type(number) is int and number >= 0, f"{number!r} is not a number")
    _need(0 < e.count <= 65535 and e.first >= 1 and 1 <= e.low <= e.first, "count, first or low out of range")
    held = sum(last - first + 1 for first, last in e.ranges())
    _need(held == e.count, f"{e.count} messages but {held} numbers")
    flat = (e.first - 1, *e.numbers[1:-1], e.last + 1) if e.numbers else ()
    _need(all(a <= b for a, b in e.ranges()), "numbers run backwards")
    _need(all(b > a for a, b in zip(flat[::2], flat[1::2], strict=False)), "numbers overlap")
    _verify_columns(e, max_content)


def _verify_columns(e: Envelope, max_content: int) -> None:
    _need(isinstance(e.index, bytes), "index is bytes")
    if e.index:
        _need(
            len(e.index) == 2 * e.count and max(_u16(e.index)) < len(e.keys),
            "index column does not fit the keys",
        )
    else:
        _need(len(e.keys) == 1, "several keys but no index column")
    sizes = [e.sizes] * e.count if isinstance(e.sizes, int) else _column(e.sizes, e.count)
    props = [e.props] if isinstance(e.props, int) else _column(e.props, e.count)
    _need(isinstance(e.props, bytes) or e.props == 0, "props is 0 or a column")
    _need(sum(sizes) == len(e.body), f"sizes add up to {sum(sizes)}, the body has {len(e.body)} bytes")
    _need(max(sizes) - min(props) <= max_content + 65536, f"a message is above {max_content} bytes")
    if isinstance(e.props, bytes):
        _need(all(p <= s for p, s in zip(props, sizes, strict=True)), "properties longer than their message")


def _column(column: Any, count: int) -> Sequence[int]:
    _need(isinstance(column, bytes) and len(column) == 4 * count, "a column does not fit the count")
    return _u32(column)


def _need(truth: bool, what: str) -> None:
    if not truth:
        raise ValueError(what)
