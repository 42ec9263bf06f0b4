"""A connection as the core sees it: its role, its handshake and the features of both ends."""

from dataclasses import dataclass, field

from mesh.flow.seldom import Seldom
from mesh.kernel.context.effects import ConnKey
from mesh.kernel.context.otherclock import OtherClock
from mesh.wire.limits import VERSION_MIN
from mesh.wire.pieces import Cutter, Gatherer
from mesh.wire.spoken import A_SECOND

ONLY_READS = "A monitor can only read. To write, join with a token of the role client or node."
NODE, CLIENT, MONITOR = "node", "client", "monitor"  # roles that a secret proves
CLIENTS = (NODE, CLIENT, MONITOR)  # grants with which clients are admitted


@dataclass(slots=True, eq=False)
class Conn:
    """A connection to a client, a node or a gateway.

    `endpoint` is the dialed address, or the bound address that the other end dialed.
    """

    key: ConnKey
    dialled: bool
    trusted: bool  # from a private socket, or within the process
    endpoint: str
    opened: float
    heard: float
    role: str = ""
    nonce: bytes = b""  # ours
    owner: bytes = b""  # peer's uuid, or client's stream id
    seed: str = ""  # dialed because of this seed address
    resume: int = 0  # last item that the other end has
    is_open: bool = False  # the handshake is done
    closed: bool = False
    version: int = VERSION_MIN  # wire version of both ends
    speaks: frozenset[str] = frozenset()  # features of both ends
    unknown: Seldom = field(default_factory=lambda: Seldom(1.0, A_SECOND))  # our notices of unknown commands
    user: str = ""  # CURVE key (Z85) of the dialing end
    why: str = ""  # why it failed, if known
    hint: str = ""  # for the user, after a failure
    cutter: Cutter | None = None  # set if the other end accepts pieces
    gatherer: Gatherer | None = None  # set once it sent a piece
    within: bool = False  # the program that embeds this node
    site: str = ""  # site of the gateway at the other end
    clock: OtherClock = field(default_factory=OtherClock)  # clock of the other end
    grant: str = ""  # NODE, CLIENT, MONITOR or RELAY; "" = not yet, or we dialed

    def close(self) -> None:
        """Mark the connection as closed, and discard partial messages in both directions."""
        self.closed = True
        self.cutter = self.gatherer = None

    @property
    def may_write(self) -> bool:
        """Whether the other end may change anything; a monitor may not."""
        return self.grant != MONITOR
