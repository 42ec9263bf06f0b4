"""Envelopes: messages that a session published in succession with the same quality of service.

The header names the stream, the sequence numbers, the keys and the length of each message; the body consists
of the messages, one after the other. A router reads the header and forwards the body, usually
untouched. To split an envelope, the router needs only the lengths, and decodes no message.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from operator import add
from struct import iter_unpack

from msgspec import Struct
from msgspec.structs import replace

from mesh.values import Hop, Route
from mesh.wire.codec import pack
from mesh.wire.header import PLAIN_PUT, read_header, u16, u32
from mesh.wire.limits import MAX_CONTENT_EVER

# Flags. `python -m tools.wire_tables` copies the comments to docs/wire.md.
PERSISTENT = 1  # Store it on disk before the answer.
LOCAL_ONLY = 2  # Only for subscribers and servers at this node.
INITIAL = 4  # A retained value. Nodes set it.
FORCE_QUEUING = 8  # To a client: wait for a session that is not connected.
ERASED = 16  # The topic was erased. Nodes set it.
TAILED = 32  # In a store only: it waits for its master.
REPLY = 64  # Replies; `numbers` are those of the requests. Nodes set it.
NO_RELAY = 128  # Gateways do not relay it to other sites.
RESENT = 256  # It was sent before, to another process, and not answered.
EVERY = 512  # To an address: for all servers, not for one.
SECOND = 1024  # Between nodes, of copies for several masters: every other copy.
FIRST = 2048  # Between nodes, of copies for several masters: the one for durable subscriptions and groups.
REQUEST = 4096  # To an address: the server replies.
PROVISIONAL = 8192  # Dirty read: its master has not accepted it yet.
RETRACTED = 16384  # Dirty read: its master did not accept it.
HELD = 32768  # Between nodes: to a master, the sender keeps the contents; from it, the contents are left out.
SILENT = 65536  # Of an erased topic: no client is notified. Nodes set it.
ONE_SESSION = 131072  # To a client: for one of its sessions, not for each.
LATE = 262144  # In a client only: a newer message of its publisher arrived before.
JOINT = 524288  # In a store only: a committed transaction contains it.
UNCONFIRMED = PROVISIONAL | RETRACTED
MARKS = FIRST | SECOND


class Envelope(Struct, frozen=True, dict=True):
    """Messages of one stream, with the numbers `first`..`last` unless `numbers` lists them.

    `index` has, for each message, the row of its key in `keys` (u16, empty if there is one key). `sizes` is
    the length of each message in the body (one int if all are alike, else u32 each). `props` is the length of
    each message's properties, which precede its content (0 if no message has any).
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
    low: int = 1  # numbers below it are settled and never resent
    sender: str = ""  # absolute session name, written by the ingress node
    sent: int = 0  # hybrid clock of the master, ns since 1970
    expires: int = 0  # earliest expiry of a message in it, ns since 1970; 0 = never
    route: Route = ()
    numbers: tuple[int, ...] = ()  # of a cut piece: first, last, first, last, …
    to: str = ""  # client, session, address or queue; "" = subscribers
    put: tuple[int, int, str] | tuple[()] = ()  # into a queue: priority, delay in ms, group; () = (5, 0, "")
    xml: str = ""  # text inside the keys as XML, for XPath queries

    @property
    def persistent(self) -> bool:
        return bool(self.flags & PERSISTENT)

    @property
    def stamp(self) -> tuple[int, bytes, int]:
        """The timestamp and id of the last message, as a sort key: the newest envelope has the largest."""
        return self.sent, self.stream, self.last

    def row(self, i: int) -> int:
        """Return the index in `keys` of the key of message `i`."""
        return u16(self.index)[i] if self.index else 0

    def rows(self) -> Sequence[int]:
        """Return the index in `keys` of each message's key."""
        return u16(self.index) if self.index else bytes(self.count)

    def number(self, i: int) -> int:
        if not self.numbers:
            return self.first + i
        for first, last in self.ranges():
            if i <= last - first:
                return first + i
            i -= last - first + 1
        raise IndexError(i)

    def ranges(self) -> list[tuple[int, int]]:
        """Return the sequence numbers as (first, last) pairs."""
        numbers = self.numbers
        if not numbers:
            return [(self.first, self.last)]
        if len(numbers) == 2:
            return [(numbers[0], numbers[1])]
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    def slice(self, i: int) -> tuple[int, int]:
        """Return the range of message `i` in the body: (start, end)."""
        if isinstance(self.sizes, int):
            return i * self.sizes, (i + 1) * self.sizes
        ends = self.ends()
        return (ends[i - 1] if i else 0), ends[i]

    def ends(self) -> Sequence[int]:
        """Return the end offset of each message in the body."""
        if isinstance(self.sizes, int):
            size = self.sizes
            return range(size, size * self.count + 1, size) if size else bytes(self.count)
        return self._offsets

    @cached_property
    def _offsets(self) -> Sequence[int]:
        assert isinstance(self.sizes, bytes)
        return array("Q", accumulate(u32(self.sizes)))

    def props_size(self, i: int) -> int:
        return u32(self.props)[i] if isinstance(self.props, bytes) else self.props

    def props_sizes(self, indices: Iterable[int]) -> Iterable[int]:
        if isinstance(self.props, bytes):
            column = u32(self.props)
            return [column[i] for i in indices]
        return [self.props for _ in indices]

    def message(self, i: int) -> tuple[bytes, bytes]:
        """Return (properties, content) of message `i`."""
        start, end = self.slice(i)
        middle = start + self.props_size(i)
        return self.body[start:middle], self.body[middle:end]

    def contents(self) -> list[bytes]:
        if isinstance(self.sizes, int) and self.sizes and not self.props:
            # The usual case, in a third of the time.
            return list(chain.from_iterable(iter_unpack(f"{self.sizes}s", self.body)))
        body, ends = self.body, self.ends()
        starts: Iterable[int] = chain((0,), ends)
        if isinstance(self.props, bytes):
            starts = map(add, starts, u32(self.props))
        return [body[start:end] for start, end in zip(starts, ends, strict=False)]

    def header(self) -> bytes:
        """Return the header frame: the fields of `header.Header`."""
        fields: list[object] = [
            self.stream, self.domain, self.first, self.last, self.keys, self.count, self.sizes,
            self.index, self.props, self.flags, self.low, self.sender, self.sent, self.expires,
            [(hop.node, hop.stratum, hop.at) for hop in self.route] if self.route else (), self.numbers,
        ]  # fmt: skip
        if self.to or self.put or self.xml:
            fields.append(self.to)
            if self.put or self.xml:
                fields.append(self.put or PLAIN_PUT)
                if self.xml:
                    fields.append(self.xml)
        return pack(fields)

    def passed(self, hop: Hop, stamp: int = 0) -> Envelope:
        """Return the envelope with `hop` appended to its route, and the timestamp `stamp` if it had none."""
        return replace(self, route=(*self.route, hop), sent=self.sent or stamp)

    def mastered(self, sent: int, hop: Hop) -> Envelope:
        """Return the envelope as its master accepts it, without marks of copies and resends.

        Strata count down to 0 at the master, whose clock determines the order.
        """
        if not self.route:
            return replace(self, sent=sent, route=(hop,))
        way = self.route[:-1] if self.route[-1].node == hop.node else self.route
        far = len(way)
        route = (*(replace(h, stratum=far - i) for i, h in enumerate(way)), hop)
        if self.flags & (MARKS | RESENT):
            return replace(self, sent=sent, route=route, flags=self.flags & ~(MARKS | RESENT))
        return replace(self, sent=sent, route=route)

    @property
    def master(self) -> str:
        """The last node on the route with stratum 0, which is the master after acceptance; "" without one."""
        return next((hop.node for hop in reversed(self.route) if not hop.stratum), "")

    def marked(self, mark: int) -> Envelope:
        """Return the envelope with the copy mark FIRST or SECOND, or without a mark for 0."""
        flags = self.flags & ~MARKS | mark
        return self if flags == self.flags else replace(self, flags=flags)

    def without(self, flags: int) -> Envelope:
        return replace(self, flags=self.flags & ~flags) if self.flags & flags else self

    def cut(self, indices: Sequence[int]) -> Envelope:
        """Return an envelope with only the messages at `indices`, which must increase."""
        if len(indices) == self.count:
            return self
        slices = self._slices(indices)
        sizes = self.sizes if isinstance(self.sizes, int) else array("I", map(len, slices)).tobytes()
        props, keys, index = self.props, self.keys, self.index
        if isinstance(props, bytes):
            column = u32(props)
            kept = array("I", [column[i] for i in indices])
            props = kept.tobytes() if any(kept) else 0
        if index:
            keys, index = self._cut_keys(indices)
        return replace(
            self,
            keys=keys,
            index=index,
            count=len(indices),
            sizes=sizes,
            props=props,
            body=b"".join(slices),
            numbers=as_ranges(self.number_list(indices)),
        )

    def _slices(self, indices: Sequence[int]) -> list[bytes]:
        body, size = self.body, self.sizes
        if isinstance(size, int):
            return [body[i * size : i * size + size] for i in indices]
        ends = self.ends()
        return [body[ends[i - 1] if i else 0 : ends[i]] for i in indices]

    def part(self, first: int, last: int) -> Envelope:
        """Return an envelope with the messages `first`..`last` of this one, which must be uncut."""
        if (first, last) == (self.first, self.last):
            return self
        cut = self.cut(range(first - self.first, last - self.first + 1))
        return replace(cut, first=first, last=last, numbers=())

    def _cut_keys(self, indices: Sequence[int]) -> tuple[tuple[str, ...], bytes]:
        column = u16(self.index)
        rows = [column[i] for i in indices]
        used = sorted(set(rows))
        place = {row: at for at, row in enumerate(used)}
        index = array("H", [place[row] for row in rows]).tobytes() if len(used) > 1 else b""
        return tuple([self.keys[row] for row in used]), index

    def number_list(self, indices: Iterable[int]) -> list[int]:
        if not self.numbers:
            return [self.first + i for i in indices]
        every = list(chain.from_iterable([range(first, last + 1) for first, last in self.ranges()]))
        return [every[i] for i in indices]


def as_ranges(numbers: Sequence[int]) -> tuple[int, ...]:
    """Return increasing `numbers`, at least one, as the ends of ranges: first, last, and so on."""
    if numbers[-1] - numbers[0] < len(numbers):  # the usual case: one range
        return numbers[0], numbers[-1]
    breaks = [(last, first) for last, first in pairwise(numbers) if first != last + 1]
    return (numbers[0], *chain.from_iterable(breaks), numbers[-1])


def runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return increasing numbers as (first, last) pairs, one for each range without a gap."""
    ranges = as_ranges(numbers) if numbers else ()
    return zip(ranges[::2], ranges[1::2], strict=True)


def decode(header: bytes, body: bytes, max_content: int = MAX_CONTENT_EVER) -> Envelope:
    """Return the envelope of two frames. Raises: RemoteError MALFORMED if they do not match, or TOO_LARGE."""
    h = read_header(header, len(body), max_content)
    return Envelope(
        h.stream, h.domain, h.first, h.last, h.keys, h.count, h.sizes, body, h.index, h.props, h.flags,
        h.low, h.sender, h.sent, h.expires, h.route, h.numbers, h.to, () if h.put == PLAIN_PUT else h.put,
        h.xml,
    )  # fmt: skip
