"""Commands about a connection itself: signs of life, its end, and the pieces of long messages."""

from __future__ import annotations

from typing import Any, ClassVar

from mesh.discovery.state import Natural
from mesh.wire.codec import check_plain
from mesh.wire.command import Checks, Command, command
from mesh.wire.limits import FRAME

DRAINING, MOVING = "draining", "moving"  # reasons of BYE


@command
class Who(Command, frozen=True, tag=5):
    """The node does not know this connection; the client must dial again."""


@command
class Ping(Command, frozen=True, tag=6):
    """A test whether the other end is alive.

    The lowest of the last three differences between `wall` and the receiver's clock corrects `expires` of all
    envelopes of this connection, if it is a second or more.

    Attributes:
        stamp: Any number; PONG repeats it.
        wall: Clock of the sender, in ns since 1970. 0: not given.
    """

    stamp: int
    wall: Natural = 0


@command
class Pong(Command, frozen=True, tag=7):
    """Immediate reply to PING.

    Attributes:
        stamp: Number of the PING.
    """

    stamp: int


@command
class Bye(Command, frozen=True, tag=8):
    """Orderly end of a connection.

    Attributes:
        reason: `"stopping"`: the node stops. `"replaced"`: another connection replaces this one.
            `"draining"`: the node asks a client to finish its work, and then to visit another node.
            `"disconnect"`: the node stops, and the receiver drops what it holds for that node. `"moving"`:
            the client goes to another node. A BYE of a client with any other reason ends its session.
        forward: Addresses of other nodes, at most 32.
    """

    reason: str = ""
    forward: tuple[str, ...] = ()


@command
class Piece(Command, frozen=True, tag=18):
    """Next bytes of a long message, whose frames are concatenated.

    A node accepts `max_content` plus 2.25 MiB from a client, 128 MiB from a node, and 256 MiB of unfinished
    messages in total (`NO_ROOM`). The next piece must arrive within 30 s (`STOPPED`).

    Attributes:
        sizes: In the first piece of a message: the length of each frame. Otherwise empty.
        data: The bytes, at least one.
    """

    limit: ClassVar[int] = FRAME

    sizes: tuple[Natural, ...]
    data: bytes


@command
class PieceAck(Command, frozen=True, tag=19):
    """Acknowledgment of pieces.

    Attributes:
        taken: Bytes received in pieces since the connection began.
    """

    taken: Natural


@command
class Unknown(Command, frozen=True, tag=27):
    """Reply to a command of an unknown kind.

    Attributes:
        command: Kind of that command.
        field: Its first field, if that has at most 64 bytes.
    """

    checks: ClassVar[Checks] = (("field", check_plain),)

    command: Natural
    field: Any = None
