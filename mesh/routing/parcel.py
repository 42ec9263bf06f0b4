"""One envelope at one node, and how many subscribers it is still owed to here."""

from array import array
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from mesh.operations import BOOT
from mesh.routing.shares import OwedShares, Shares, shares
from mesh.wire.envelope import Envelope


class Parcel(Struct, eq=False):
    """An envelope here. `position` is its place in the log of `master` (0 = transient, then nobody counts;
    `after` is the last place that went before it). `is_late`: that place is told to nobody, as it came behind
    what another way has brought of that log, or is one in a store of a queue."""

    envelope: Envelope
    position: int = 0
    master: bytes = b""
    own: bool = False  # this node is that master
    source: bytes = b""  # uuid of the peer that brought it
    owed: int = 0
    shares: Shares | None = None  # which messages each is owed, where some may be owed to nobody soon
    after: int = 0
    is_late: bool = False
    frames: list[bytes] = field(default_factory=list)  # encoded once, sent to many
    ttl: int = 0  # ms that requests in it had when it was given to somebody
    paged: int = 0  # how many of those who are owed it wait for it on the disk alone
    held_by: object = None  # the life of the link to the node that holds its contents; None: nobody does
    lacks: int = 0  # bytes of the envelope that it was offered with, and that are not in memory

    def owe(self, owed: OwedShares) -> None:
        """So many wait for it."""
        self.owed = len(owed)
        self.shares = shares(owed, self.envelope)

    @property
    def boot(self) -> int:
        """In which boot its master took it; 0 = nobody says."""
        place = self.position or self.after
        return (place + 1) // BOOT if place else 0  # before the first of a boot stands the last place below

    @property
    def size(self) -> int:
        """The same all the time, whatever of it is in memory."""
        # Bodies may be empty; counts cost too.
        e = self.envelope
        if e.xml:
            return len(e.body) + self.lacks + 64 * e.count + len(e.xml)
        return len(e.body) + self.lacks + 64 * e.count

    # --- its envelope may be on the disk alone ----------------------------------------------------------

    @property
    def is_here(self) -> bool:
        """Is the envelope in memory?"""
        return bool(self.envelope.stream)

    def give_away(self) -> None:
        """If all who are owed it wait for it on the disk, it is nowhere else."""
        e = self.envelope
        if self.paged == self.owed and self.is_here:
            self.lacks += len(e.body)
            self.envelope, self.frames = nameless(e.count) if self.shares is None else absent(e), []

    def found(self, envelope: Envelope) -> None:
        """It was read. Perhaps it was cut on the disk meanwhile: its messages keep their places."""
        gone, size = self.envelope, self.size
        if envelope.count != gone.count:
            envelope = refilled(envelope, gone)
        self.envelope, self.lacks = envelope, 0
        self.lacks = size - self.size


def absent(envelope: Envelope, void_at: int = 0) -> Envelope:
    """Stands for one that is not in memory, and knows which messages it has. `void_at`: when all are void."""
    e = envelope
    return Envelope(b"", "", e.first, e.last, (), e.count, 0, b"", expires=void_at, numbers=e.numbers)


@lru_cache(1024)
def nameless(count: int, void_at: int = 0) -> Envelope:
    """The same for one that nobody cuts."""
    return Envelope(b"", "", 0, 0, (), count, 0, b"", expires=void_at)


def refilled(piece: Envelope, whole: Envelope) -> Envelope:
    """A piece that was cut out of an envelope, with all places of that: what it lacks is empty."""
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
