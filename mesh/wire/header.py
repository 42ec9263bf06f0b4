"""Reads the header frame of an envelope, and checks it against the body.

The router relies on these checks and does not repeat them.
"""

from collections.abc import Sequence
from operator import gt, le, lt, sub
from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.errors import RemoteError
from mesh.values import LONGEST_KEY, Route
from mesh.wire.codec import malformed, reader
from mesh.wire.limits import (
    CONTROL_FRAME,
    ENVELOPE_BYTES,
    ENVELOPE_MESSAGES,
    FRAME,
    KEY_XML,
    LARGEST_SEQUENCE,
    PUT_GROUP,
    ROUTE,
)

FEW = ENVELOPE_BYTES // LONGEST_KEY  # keys whose total length is always allowed
FromOne = Annotated[int, Meta(ge=1, le=LARGEST_SEQUENCE)]
U32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
Priority = Annotated[int, Meta(ge=0, le=9)]
Column = Annotated[bytes, Meta(min_length=4)]  # a u32 for each message
PLAIN_PUT = (5, 0, "")  # default terms of a queue; () in an Envelope


class Header(msgspec.Struct, frozen=True, array_like=True):
    """The header frame of an envelope.

    Attributes:
        stream: Stream id of the publisher.
        domain: Domain of all messages. `""`: none.
        first: Number of the first message, from 1.
        last: Number of the last message, `first` + `count` - 1 unless `numbers` is set.
        keys: The keys that occur.
        count: Number of messages.
        sizes: Length of each message: one number if all are alike, else a u32 column. Their sum is the length
            of the body.
        index: For each message the place of its key in `keys`: a u16 column. Empty: there is one key.
        props: For each message the length of its properties: a u32 column. 0: none has any.
        flags: Bitwise OR of the values under "Flags".
        low: All numbers of this stream below it have their final answer. 1 to `first`.
        sender: Name of the publishing session. Its node writes it.
        sent: Time in ns since 1970 at which the master accepted the envelope. The master writes it.
        expires: Earliest expiry of a message in the envelope, in ns since 1970. 0: never.
        route: Node, stratum and time in ns of each hop. The nodes write it.
        numbers: Ranges of sequence numbers of a part of an envelope: first, last, first, last, … Empty: all
            from `first` to `last`.
        to: Client, session, address or queue that receives the envelope. `""`: the subscribers.
        put: Into a queue: priority (0 to 9), delay in ms, and message group, for all messages.
        xml: XML text inside the keys of all messages, for XPath queries.
    """

    stream: Annotated[bytes, Meta(min_length=16, max_length=16)]
    domain: str
    first: FromOne
    last: FromOne
    keys: Annotated[tuple[str, ...], Meta(min_length=1, max_length=ENVELOPE_MESSAGES)]
    count: Annotated[int, Meta(ge=1, le=ENVELOPE_MESSAGES)]
    sizes: Natural | Column
    index: bytes = b""
    props: Natural | Column = 0
    flags: Natural = 0
    low: FromOne = 1
    sender: str = ""
    sent: Natural = 0
    expires: Natural = 0
    route: Annotated[Route, Meta(max_length=ROUTE)] = ()
    numbers: Annotated[tuple[FromOne, ...], Meta(max_length=2 * ENVELOPE_MESSAGES)] = ()
    to: Annotated[str, Meta(max_length=LONGEST_KEY)] = ""
    put: tuple[Priority, U32, Annotated[str, Meta(max_length=PUT_GROUP)]] = PLAIN_PUT
    xml: Annotated[str, Meta(max_length=KEY_XML)] = ""


_read = reader(Header, FRAME)


def read_header(frame: bytes, body_size: int, max_content: int) -> Header:
    """Return the header of a body. Raises: RemoteError MALFORMED, or TOO_LARGE above `max_content`."""
    header = _read(frame)
    if len(header.keys) == 1 and _is_plain(header, body_size, max_content):  # as a rule
        return header
    try:
        _check_numbers(header)
        _check_keys(header)
        _check_sizes(header, body_size, max_content)
    except ValueError as error:
        raise malformed(frame, error) from error
    return header


def _is_plain(h: Header, body_size: int, max_content: int) -> bool:
    """Return whether the header has one key, consecutive numbers and equal sizes: it needs no more checks."""
    if h.props or h.numbers or h.index:
        return False
    is_alike = isinstance(h.sizes, int) and h.sizes * h.count == body_size <= max_content
    is_whole = h.last - h.first + 1 == h.count and h.low <= h.first
    return is_alike and is_whole and (not h.to or len(h.keys[0]) <= LONGEST_KEY)


def u16(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("H")


def u32(column: bytes) -> Sequence[int]:
    return memoryview(column).cast("I")


def _check_numbers(h: Header) -> None:
    if h.low > h.first:
        raise ValueError(f"low {h.low} is above first {h.first}")
    held = _held(h) if h.numbers else h.last - h.first + 1
    if held != h.count:
        raise ValueError(f"the header has {h.count} messages but {held} numbers")


def _held(h: Header) -> int:
    firsts, lasts = h.numbers[::2], h.numbers[1::2]
    # Each range begins after the end of the previous one, and the last one ends within the envelope.
    is_rising = all(map(lt, (h.first - 1, *lasts), firsts)) and all(map(le, firsts, lasts))
    if len(firsts) != len(lasts) or not is_rising or lasts[-1] > h.last:
        raise ValueError(f"{len(h.numbers)} range ends are not increasing numbers within {h.first}..{h.last}")
    return sum(lasts) - sum(firsts) + len(firsts)


def _check_keys(h: Header) -> None:
    # The keys of a direct message are checked nowhere else.
    if h.to and max(map(len, h.keys)) > LONGEST_KEY:
        raise ValueError(f"a key has more than {LONGEST_KEY} characters")
    if len(h.keys) > FEW and sum(map(len, h.keys)) > ENVELOPE_BYTES + LONGEST_KEY:
        raise ValueError(
            f"{len(h.keys)} keys have {sum(map(len, h.keys))} characters: put fewer into one envelope"
        )
    if not h.index:
        if len(h.keys) > 1:
            raise ValueError(f"the header has {len(h.keys)} keys but no index column")
    elif len(h.index) != 2 * h.count or max(u16(h.index)) >= len(h.keys):
        raise ValueError(f"the index column does not fit {h.count} messages and {len(h.keys)} keys")


def _check_sizes(h: Header, body_size: int, max_content: int) -> None:
    if isinstance(h.sizes, int) and h.sizes * h.count == body_size <= max_content and not h.props:
        return  # as a rule
    sizes = [h.sizes] * h.count if isinstance(h.sizes, int) else _column(h.sizes, h.count)
    if sum(sizes) != body_size:
        raise ValueError(f"the sizes add up to {sum(sizes)}, but the body has {body_size} bytes")
    props = _column(h.props, h.count) if isinstance(h.props, bytes) else ()
    if not h.props:
        longest = max(sizes) if body_size > max_content else 0
    elif (
        not props or any(map(gt, props, sizes)) or (body_size > CONTROL_FRAME and max(props) > CONTROL_FRAME)
    ):
        raise ValueError("a message's own properties do not fit into it, or are above 64 KiB")
    else:
        longest = max(map(sub, sizes, props)) if body_size > max_content else 0
    if longest > max_content:
        raise RemoteError(
            f"the content of a message has {longest} bytes; at most {max_content} are allowed",
            code="TOO_LARGE",
        )
    if body_size > (most := max_content + ENVELOPE_BYTES + CONTROL_FRAME):
        what = f"an envelope has {body_size} bytes, above the limit of {most}: put fewer messages into one"
        raise RemoteError(what, code="TOO_LARGE")


def _column(column: bytes, count: int) -> Sequence[int]:
    if len(column) != 4 * count:
        raise ValueError(f"a column has {len(column)} bytes, but 4 are required for each of {count} messages")
    return u32(column)
