"""What a core wants done: the only way in which a decision reaches the world."""

from collections.abc import Hashable

from msgspec import Struct

from mesh.loglevels import NODE
from mesh.operations import Op
from mesh.snapshots.line import HistoryLine

ConnKey = Hashable  # made by the shell for a connection that came in, by the core for one it dials


class Send(Struct, frozen=True):
    """Put these frames on a connection."""

    conn: ConnKey
    frames: list[bytes]


class Dial(Struct, frozen=True):
    """Open a connection to `address` and call it `conn`. `site`: of which other one it is."""

    conn: ConnKey
    address: str
    site: str = ""


class HangUp(Struct, frozen=True):
    """Close a connection that was dialled, or forget one that came in, after what was sent on it."""

    conn: ConnKey


class Gossip(Struct, frozen=True):
    """Publish these frames on our PUB."""

    frames: list[bytes]


class Listen(Struct, frozen=True):
    """Hear the PUB at this address, or (wanted=False) no more."""

    address: str
    wanted: bool


class Knock(Struct, frozen=True):
    """Does anybody listen at this address? Tell `knocked(uuid, refused)`."""

    uuid: bytes
    address: str


class Proven(Struct, frozen=True):
    """The proof that whoever dialled this connection, with this public CURVE key if any, belongs here."""

    conn: ConnKey
    user: str
    is_node: bool


class Commit(Struct, frozen=True):
    """Store these together; tell `stored(token, …)` when they are on disk. Token None: nobody waits.

    `store`: which of a node's stores; "" is its own.
    """

    token: int | None
    ops: tuple[Op, ...]
    store: str = ""


class Fetch(Struct, frozen=True):
    """Read the envelopes at these positions, behind all that was to be committed before; tell
    `fetched(token, …)`. Those that were dropped are left out.

    `store`: as that of a commit.
    """

    token: int
    positions: tuple[int, ...]
    store: str = ""


class WriteLine(Struct, frozen=True):
    """Write this line into the snapshots."""

    line: HistoryLine


class Note(Struct, frozen=True):
    """Worth a line in the log. `logger`: one of `mesh.loglevels.LOGGERS`."""

    level: str
    text: str
    logger: str = NODE


class SetLevel(Struct, frozen=True):
    """From now on that logger writes what has this level, or is worse. Logger "": all of them."""

    logger: str
    level: str


class Stop(Struct, frozen=True):
    """Leave, with an error text if it was not on purpose."""

    error: str = ""
    code: str = ""


class Backup(Struct, frozen=True):
    """Make a copy of all that this node keeps on its disk, beside it: see `mesh.local.backup`."""


Effect = (
    Send
    | Dial
    | HangUp
    | Gossip
    | Listen
    | Knock
    | Proven
    | Commit
    | Fetch
    | WriteLine
    | Note
    | SetLevel
    | Backup
    | Stop
)
