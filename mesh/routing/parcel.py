"""One envelope at one node, and how many subscribers it is still owed to here."""

from msgspec import Struct, field

from mesh.operations import BOOT
from mesh.routing.shares import Owed, Shares, shares
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

    def owe(self, owed: Owed) -> None:
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
        return len(self.envelope.body) + 64 * self.envelope.count  # bodies may be empty; counts cost too
