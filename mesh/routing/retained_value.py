"""The retained value of a topic, cut out of the envelope that it arrived in."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence, Set

from msgspec import Struct

from mesh.hops import site_of, within_site
from mesh.wire.envelope import INITIAL, LOCAL_ONLY, Envelope, decode

OVERHEAD = 400  # bytes of a topic besides its content


class RetainedValue(Struct, frozen=True, gc=False):
    """A message of an envelope, cut out as the retained value of its topic.

    The cut is made late, because most values are replaced before any read.
    """

    envelope: Envelope  # without its body
    number: int
    key: str
    data: bytes  # own properties, then content
    props: int

    @property
    def size(self) -> int:
        return len(self.data) + len(self.key) + len(self.envelope.xml) + OVERHEAD

    @property
    def stamp(self) -> tuple[int, bytes, int]:
        """The sort key of values from different streams: timestamp, stream, number.

        `is_newer_than` decides which value wins.
        """
        return self.envelope.sent, self.envelope.stream, self.number

    def is_newer_than(self, other: RetainedValue, here: str = "") -> bool:
        """Return whether this value replaces the other one.

        For one publisher its own order counts, for two publishers the master's order, and for two sites the
        rule that all sites apply. `here` is the name of this site. Equal timestamps are rare: of publishers
        in one site, the later name wins, which is the same in all sites. Stream ids differ between sites.
        """
        e, o = self.envelope, other.envelope
        if e.stream == o.stream:
            return self.number > other.number
        if e.sent == o.sent and self.site(here) != other.site(here):
            return self.wins(other, here)
        if e.sent == o.sent and e.sender != o.sender:
            return within_site(e.sender) > within_site(o.sender)
        return self.stamp > other.stamp

    def site(self, here: str) -> str:
        return site_of(self.envelope.sender, here)

    def wins(self, other: RetainedValue, here: str) -> bool:
        """Return whether this value wins over that of another site."""
        return wins(self.envelope.sent, self.site(here), other.envelope.sent, other.site(here))

    @property
    def is_local(self) -> bool:
        """Whether the value is for clients of this node only."""
        return bool(self.envelope.flags & LOCAL_ONLY)

    def is_void(self, wall: int) -> bool:
        """Return whether the value has expired at `wall` (ns since 1970)."""
        return 0 < self.envelope.expires <= wall

    @property
    def store_key(self) -> bytes:
        return store_key(self.envelope.domain, self.key)

    def as_envelope(self) -> Envelope:
        e = self.envelope
        props: int | bytes = array("I", [self.props]).tobytes() if self.props else 0
        return Envelope(
            stream=e.stream, domain=e.domain, first=self.number, last=self.number, keys=(self.key,), count=1,
            sizes=len(self.data), body=self.data, props=props, flags=e.flags | INITIAL,
            low=min(e.low, self.number), sender=e.sender, sent=e.sent, expires=e.expires, route=e.route,
            xml=e.xml,
        )  # fmt: skip

    def pack(self) -> bytes:
        """Return the stored form: length of the header, header, data."""
        header = self.as_envelope().header()
        return len(header).to_bytes(4) + header + self.data

    @classmethod
    def unpack(cls, record: bytes) -> RetainedValue:
        end = 4 + int.from_bytes(record[:4])
        e = decode(record[4:end], record[end:])
        return cls(_bare(e), e.first, e.keys[0], record[end:], e.props_size(0))


def store_key(domain: str, key: str) -> bytes:
    """Return the key of the row in which the retained value of a topic is stored."""
    return domain.encode() + b"\0" + key.encode()


def _bare(e: Envelope) -> Envelope:
    return Envelope(
        stream=e.stream, domain=e.domain, first=e.first, last=e.last, keys=("",), count=1, sizes=0, body=b"",
        flags=e.flags & ~INITIAL, low=e.low, sender=e.sender, sent=e.sent, expires=e.expires, route=e.route,
        xml=e.xml,
    )  # fmt: skip


def last_values(envelope: Envelope, without: Set[str] = frozenset()) -> list[RetainedValue]:
    """Return the last message of each key in the envelope, except for the keys in `without`."""
    last_of = {0: envelope.count - 1}
    if envelope.index:
        last_of = dict(zip(envelope.rows(), range(envelope.count), strict=True))
    if without:
        last_of = {row: i for row, i in last_of.items() if envelope.keys[row] not in without}
    return _values(envelope, list(last_of), list(last_of.values()))


def values_at(envelope: Envelope, indices: Sequence[int]) -> list[RetainedValue]:
    """Return the messages at `indices`, each as a value of its topic."""
    return _values(envelope, [envelope.row(i) for i in indices], indices)


def indices_of_values(envelope: Envelope, limits: Mapping[str, int]) -> list[int]:
    """Return the indices of the last messages of each key, as many as `limits` has for it; none without."""
    left = [limits.get(key, 0) for key in envelope.keys]
    found, rows = list[int](), list(envelope.rows())
    for i in range(envelope.count - 1, -1, -1):
        if left[rows[i]] > 0:
            left[rows[i]] -= 1
            found.append(i)
    return found[::-1]


def _values(envelope: Envelope, rows: Sequence[int], places: Sequence[int]) -> list[RetainedValue]:
    bare, keys, body = _bare(envelope), envelope.keys, envelope.body
    numbers, ends, props = envelope.number_list(places), envelope.ends(), envelope.props_sizes(places)
    return [
        RetainedValue(bare, number, keys[row], body[ends[i - 1] if i else 0 : ends[i]], size)
        for row, i, number, size in zip(rows, places, numbers, props, strict=True)
    ]


# Law: every site decides alike, in whatever order the values arrive, so the timestamps are those of the
# origin.
def wins(stamp_a: int, site_a: str, stamp_b: int, site_b: str) -> bool:
    """Return whether value A wins over value B.

    The newer value wins; with equal timestamps the later site name wins.
    """
    return (stamp_a, site_a) > (stamp_b, site_b)
