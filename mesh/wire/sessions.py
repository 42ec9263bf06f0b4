"""Sessions that move between nodes."""

from __future__ import annotations

import msgspec

from mesh.proof import attach_text, stream_of
from mesh.wire.command import Command, command
from mesh.wire.header import U32
from mesh.wire.limits import VISITS


class Certificate(msgspec.Struct, frozen=True, array_like=True):
    """Proof by a client that its session is at a node. A higher attach number outdates a lower one.

    Attributes:
        session: Absolute name of the session.
        key: Public Ed25519 key of its stream, 32 bytes.
        attach: Attach number, from 1 up. A client increments it with each node that it visits.
        node: Id of the visited node, 16 bytes.
        signature: Signature by `key`, 64 bytes, of "heronry attach", session, attach and node in hexadecimal,
            separated by zero bytes.
    """

    session: str
    key: bytes
    attach: U32
    node: bytes
    signature: bytes

    @property
    def stream(self) -> bytes:
        """The stream id of the session."""
        return stream_of(self.key)

    @property
    def text(self) -> bytes:
        """The signed text."""
        return attach_text(self.session, self.attach, self.node)


@command
class Moved(Command, frozen=True, tag=39):
    """Notice that a session is at the node that its certificate names.

    The visited node sends it when the session arrives, when a resumed subscription ends, and at each login of
    a node, before any message of the session. A node also sends it to the next node before it forwards a
    message of the session.

    Attributes:
        certificate: The certificate of the session.
        subscriptions: Numbers of all open subscriptions of the session. What the receiver has pinned for
            others is released. Without: unknown.
    """

    word = VISITS

    certificate: Certificate
    subscriptions: tuple[U32, ...] | None = None
