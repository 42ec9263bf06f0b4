"""The effects of a core, which its shell carries out: the core itself does no I/O."""

from collections.abc import Hashable

from msgspec import Struct

from mesh.loglevels import NODE
from mesh.operations import Op, Span
from mesh.snapshots.line import HistoryLine

ConnKey = Hashable  # from the shell if accepted, from the core if dialed


class Send(Struct, frozen=True):
    """Send these frames on a connection."""

    conn: ConnKey
    frames: list[bytes]


class Dial(Struct, frozen=True):
    """Open a connection to `address` under the key `conn`; `site` names the other site, if any."""

    conn: ConnKey
    address: str
    site: str = ""


class HangUp(Struct, frozen=True):
    """Close a dialed connection, or forget an accepted one, after all frames sent on it."""

    conn: ConnKey


class Gossip(Struct, frozen=True):
    """Publish these frames on the PUB socket of this node."""

    frames: list[bytes]


class Listen(Struct, frozen=True):
    """Subscribe to the PUB socket at this address, or unsubscribe (`wanted=False`)."""

    address: str
    wanted: bool


class ProbeAddress(Struct, frozen=True):
    """Check whether a process listens at this address, and call `knocked(uuid, refused)`.

    `refused` is whether the operating system there refused the connection, as no process listens.
    """

    uuid: bytes
    address: str


class Proven(Struct, frozen=True):
    """Report that the dialing end of a connection is admitted.

    `user` is the CURVE key of that end, or "".
    """

    conn: ConnKey
    user: str
    is_node: bool


class Commit(Struct, frozen=True):
    """Store these operations together, and call `stored(token, …)` when they are on disk or have failed.

    Without a token, no result is reported. `store` names one of the node's stores; "" is its own.
    """

    token: int | None
    ops: tuple[Op, ...]
    store: str = ""


class Fetch(Struct, frozen=True):
    """Read the envelopes at these positions after all earlier commits, and call `fetched(token, …)`.

    Dropped envelopes are left out. `store` is as for a commit.
    """

    token: int
    positions: tuple[int, ...] | Span
    store: str = ""


class WriteLine(Struct, frozen=True):
    """Write this line into the snapshots of the history."""

    line: HistoryLine


class LogLine(Struct, frozen=True):
    """Write a line into the log. `logger` is one of `mesh.loglevels.LOGGERS`."""

    level: str
    text: str
    logger: str = NODE


class SetLevel(Struct, frozen=True):
    """Set the lowest level that a logger writes. Logger "" stands for all of them."""

    logger: str
    level: str


class Stop(Struct, frozen=True):
    """Stop the node, with an error text unless the stop was intended."""

    error: str = ""
    code: str = ""


class Backup(Struct, frozen=True):
    """Copy the data directory of this node to a directory beside it: see `mesh.local.backup`."""


Effect = (
    Send
    | Dial
    | HangUp
    | Gossip
    | Listen
    | ProbeAddress
    | Proven
    | Commit
    | Fetch
    | WriteLine
    | LogLine
    | SetLevel
    | Backup
    | Stop
)
