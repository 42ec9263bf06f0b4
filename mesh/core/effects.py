"""What a core wants done: the only way in which a decision reaches the world."""

from collections.abc import Hashable
from dataclasses import dataclass

from mesh.snapshots.line import Line
from mesh.store.base import Op

ConnKey = Hashable  # made by the shell for a connection that came in, by the core for one it dials


@dataclass(frozen=True, slots=True)
class Send:
    """Put these frames on a connection."""

    conn: ConnKey
    frames: list[bytes]


@dataclass(frozen=True, slots=True)
class Dial:
    """Open a connection to `address` and call it `conn`."""

    conn: ConnKey
    address: str


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close a connection that was dialled, or forget one that came in, after what was sent on it."""

    conn: ConnKey


@dataclass(frozen=True, slots=True)
class Gossip:
    """Publish these frames on our PUB."""

    frames: list[bytes]


@dataclass(frozen=True, slots=True)
class Listen:
    """Hear the PUB at this address, or (wanted=False) no more."""

    address: str
    wanted: bool


@dataclass(frozen=True, slots=True)
class Knock:
    """Does anybody listen at this address? Tell `knocked(uuid, refused)`."""

    uuid: bytes
    address: str


@dataclass(frozen=True, slots=True)
class Proven:
    """Whoever dials with this public CURVE key has shown that it belongs here."""

    user: str


@dataclass(frozen=True, slots=True)
class Commit:
    """Store these together; tell `stored(token, …)` when they are on disk. Token None: nobody waits."""

    token: int | None
    ops: tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """Write this line into the snapshots."""

    line: Line


@dataclass(frozen=True, slots=True)
class Note:
    """Worth a line in the log."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Leave, with an error text if it was not on purpose. `next_position`: so far our log has been."""

    error: str = ""
    code: str = ""
    next_position: int = 0


Effect = Send | Dial | HangUp | Gossip | Listen | Knock | Proven | Commit | Record | Note | Stop
