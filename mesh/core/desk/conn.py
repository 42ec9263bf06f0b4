"""One connection as the core sees it: what it is for, and how far its handshake has come."""

from dataclasses import dataclass, field

from mesh.core.desk.effects import ConnKey
from mesh.core.desk.otherclock import OtherClock
from mesh.wire.limits import VERSION_MIN
from mesh.wire.pieces import Cutter, Gatherer
from mesh.wire.spoken import Seldom

ONLY_READS = "a monitor reads, and changes nothing."
NODE, CLIENT, MONITOR = "node", "client", "monitor"  # what somebody may be, by the secret that it proves
CLIENTS = (NODE, CLIENT, MONITOR)  # whose clients come in; of another site nobody does as a client


@dataclass(slots=True, eq=False)
class Conn:
    """A connection. `endpoint` is the address dialled, or the bound one that the other side dialled."""

    key: ConnKey
    dialled: bool
    trusted: bool  # came through a socket that only this user can open, or from within
    endpoint: str
    opened: float
    heard: float
    role: str = ""
    nonce: bytes = b""  # ours
    owner: bytes = b""  # at the other end: uuid of the node, or stream id of the client
    seed: str = ""  # dialled because of this seed address
    resume: int = 0  # how far the other end has our items, from its greeting
    is_open: bool = False  # the handshake is done
    closed: bool = False
    version: int = VERSION_MIN  # of the wire, that both ends speak,
    speaks: frozenset[str] = frozenset()  # and the words that both have said
    unknown: Seldom = field(default_factory=Seldom)  # it is told that we do not know what it says
    user: str = ""  # public CURVE key (Z85) of who dialled us, vouched for by ZeroMQ
    why: str = ""  # why it came to nothing, as far as the transport knows,
    hint: str = ""  # and what may help
    cutter: Cutter | None = None  # the other end knows pieces
    gatherer: Gatherer | None = None  # it has sent some
    within: bool = False  # the program in whose process this node runs; it ends no sooner than that
    site: str = ""  # the other one, of which a gateway is at the other end
    clock: OtherClock = field(default_factory=OtherClock)  # of the other end
    grant: str = (
        ""  # with whose secret it came in: NODE, CLIENT, MONITOR or RELAY; "" = not yet, or we dialled
    )

    def close(self) -> None:
        """End it: what had come of a message or was to follow is nobody's any more."""
        self.closed = True
        self.cutter = self.gatherer = None

    @property
    def may_write(self) -> bool:
        """A monitor reads, and changes nothing."""
        return self.grant != MONITOR
