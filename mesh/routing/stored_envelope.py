"""An envelope on one node, and the number of its sinks here."""

from array import array
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from mesh.operations import BOOT
from mesh.routing.shares import OwedShares, Shares, shares
from mesh.wire.envelope import Envelope


class StoredEnvelope(Struct, eq=False):
    """An envelope on this node.

    `position` is its place in the log of `master`. Position 0 means transient, and `after` is then the last
    position before it. With `is_late` the position is not reported, because the envelope is in a queue's
    store, or arrived over another route behind later ones of that log.
    """

    envelope: Envelope
    position: int = 0
    master: bytes = b""
    own: bool = False  # whether this node is that master
    source: bytes = b""  # uuid of the peer that sent it
    owed: int = 0
    shares: Shares | None = None  # messages of each sink, if some may soon be unneeded
    after: int = 0
    is_late: bool = False
    frames: list[bytes] = field(default_factory=list)  # encoded once, sent to many
    ttl: int = 0  # ms that its requests had left when delivered
    paged: int = 0  # sinks that wait for it on disk only
    # Link session to the node that holds its body; None: no node does.
    held_by: object = None
    lacks: int = 0  # bytes of its envelope that are not in memory

    def owe(self, owed: OwedShares) -> None:
        self.owed = len(owed)
        self.shares = shares(owed, self.envelope)

    @property
    def boot(self) -> int:
        """The boot in which the master accepted the envelope; 0 = unknown."""
        place = self.position or self.after
        return (place + 1) // BOOT if place else 0  # a transient message may follow the previous boot

    @property
    def size(self) -> int:
        """The size in bytes, independent of the part that is in memory."""
        # Bodies may be empty, but messages have a cost, too.
        e = self.envelope
        if e.xml:
            return len(e.body) + self.lacks + 64 * e.count + len(e.xml)
        return len(e.body) + self.lacks + 64 * e.count

    # --- paging -----------------------------------------------------------------------------------------

    @property
    def is_here(self) -> bool:
        return bool(self.envelope.stream)

    def give_away(self) -> None:
        """Drop the envelope from memory if all its sinks wait for it on disk."""
        e = self.envelope
        if self.paged == self.owed and self.is_here:
            self.lacks += len(e.body)
            self.envelope, self.frames = nameless(e.count) if self.shares is None else absent(e), []

    def found(self, envelope: Envelope) -> None:
        """Set the envelope that was read.

        Messages keep their places if it was cut on disk meanwhile.
        """
        gone, size = self.envelope, self.size
        if envelope.count != gone.count:
            envelope = refilled(envelope, gone)
        self.envelope, self.lacks = envelope, 0
        self.lacks = size - self.size


def absent(envelope: Envelope, void_at: int = 0) -> Envelope:
    """Return a placeholder with the message numbers of an envelope, without its contents.

    `void_at` is when all its messages have expired (ns since 1970); 0 = never.
    """
    e = envelope
    return Envelope(b"", "", e.first, e.last, (), e.count, 0, b"", expires=void_at, numbers=e.numbers)


@lru_cache(1024)
def nameless(count: int, void_at: int = 0) -> Envelope:
    """Return a placeholder for an envelope of `count` messages that is never cut on disk.

    `void_at` is when all its messages have expired (ns since 1970); 0 = never.
    """
    return Envelope(b"", "", 0, 0, (), count, 0, b"", expires=void_at)


def refilled(piece: Envelope, whole: Envelope) -> Envelope:
    """Return the cut envelope `piece` with a place for each message of `whole`.

    Missing messages are empty.
    """
    places = {number: i for i, number in enumerate(piece.number_list(range(piece.count)))}
    sizes, props, index = array("I"), array("I"), array("H")
    for number in whole.number_list(range(whole.count)):
        i = places.get(number)
        start, end = piece.slice(i) if i is not None else (0, 0)
        sizes.append(end - start)
        props.append(piece.props_size(i) if i is not None else 0)
        index.append(piece.row(i) if i is not None else 0)
    return replace(
        piece,
        count=whole.count,
        sizes=sizes.tobytes(),
        props=props.tobytes() if any(props) else 0,
        index=index.tobytes() if len(piece.keys) > 1 else b"",
        numbers=whole.numbers,
    )
