"""Gathers messages of one domain, with the same flags and receiver, into an envelope."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPE_BYTES, ENVELOPE_MESSAGES, MAX_CONTENT


class Builder:
    """An envelope that is still open.

    `to` is the session, client, address or queue that receives the messages; "" for subscribers and replies.
    A message with equal `options` may be added without `add` while there are fewer than ENVELOPE_MESSAGES, if
    its size is below `room` and at most `most`; the caller then updates `slices`, `index` and `room`.
    """

    domain: str
    flags: int
    to: str
    first: int
    most: int
    until: float = 0.0  # deadline of messages to an address; 0: none
    put: tuple[int, int, str] | tuple[()] = ()  # queue terms, as in an Envelope
    xml: str = ""  # the XML of each key

    def __init__(self, domain: str, flags: int, to: str, first: int, most: int = MAX_CONTENT) -> None:
        self.domain, self.flags, self.to, self.first, self.most = domain, flags, to, first, most
        self.slices: list[bytes] = []
        self.rows: dict[str, int] = {}
        self.index: list[int] = []
        self.props: list[int] = []
        self.room: int = ENVELOPE_BYTES
        self.expires: int = 0
        self.options: Mapping[str, object] | None = None  # None: no options can be compared

    def add(self, key: str, content: bytes, props: bytes, expires: int) -> int:
        self.index.append(self.add_key(key))
        if props or self.props:
            self.props += [0] * (len(self.slices) - len(self.props)) + [len(props)]
            self.options = None
            content = props + content
        self.slices.append(content)
        self.room -= len(content)
        if expires:
            self.expires = min(expires, self.expires or expires)
        return self.first + len(self.slices) - 1

    def add_many(self, key: str, contents: Sequence[bytes], props: bytes, expires: int) -> int:
        """Append contents until the envelope is full; return how many were appended.

        At least one is appended, unless the envelope is full already.
        """
        contents = contents[: ENVELOPE_MESSAGES - len(self.slices)]
        if props:
            contents = [props + content for content in contents]
        size = sum(map(len, contents))
        if size >= self.room:
            ends = list(accumulate(map(len, contents), initial=0))
            contents = contents[: bisect_left(ends, self.room)]
            size = ends[len(contents)]
        count = len(contents)
        if props or self.props:
            self.props += [0] * (len(self.slices) - len(self.props)) + [len(props)] * count
            self.options = None
        self.index += [self.add_key(key)] * count
        self.slices += contents
        self.room -= size
        if expires:
            self.expires = min(expires, self.expires or expires)
        return count

    def add_key(self, key: str) -> int:
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = len(self.rows)
            self.room -= len(key)
        return row

    @property
    def full(self) -> bool:
        return len(self.slices) >= ENVELOPE_MESSAGES or self.room <= 0

    def seal(self, stream: bytes) -> Envelope:
        sizes = array("I", map(len, self.slices))
        alike = sizes.count(sizes[0]) == len(sizes)
        return Envelope(
            stream=stream,
            domain=self.domain,
            first=self.first,
            last=self.first + len(sizes) - 1,
            keys=tuple(self.rows),
            count=len(sizes),
            sizes=sizes[0] if alike else sizes.tobytes(),
            body=b"".join(self.slices),
            flags=self.flags,
            expires=self.expires,
            to=self.to,
            put=self.put,
            xml=self.xml,
            index=array("H", self.index).tobytes() if len(self.rows) > 1 else b"",
            props=array("I", self.props).tobytes() if self.props else 0,
        )
