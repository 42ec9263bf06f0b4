"""Wire format of gossip: states of nodes as signed lines, digests and tombstones."""

from typing import Annotated

import msgspec
from msgspec import Meta

from mesh.discovery.state import LONGEST as LONGEST_STATE
from mesh.discovery.state import Natural, Uuid

LONGEST = 256 * 1024  # bytes of one message
MOST = 512  # entries of each of its lists

Version = tuple[int, int]  # (boot, counter)
DigestEntry = tuple[Uuid, Natural, Natural]  # uuid, boot, counter
DigestEdge = Annotated[bytes, Meta(max_length=16)]  # a bound in the order of uuids


class StateLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A state of a node, as that node signed it.

    Attributes:
        uuid: Id of the node.
        boot: Boot of the node.
        counter: Number that grows with each state of one boot. The highest (boot, counter) is the newest.
        state: An encoded NodeState.
        signature: Signature by the Ed25519 key of the node; without keys a MAC that only the node itself can
            check.
        far: Whether each receiver relays the line once.
    """

    uuid: Uuid
    boot: Natural
    counter: Natural
    state: Annotated[bytes, Meta(max_length=LONGEST_STATE)]
    signature: Annotated[bytes, Meta(max_length=64)] = b""
    far: bool = False

    @property
    def version(self) -> Version:
        return self.boot, self.counter


class StateMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A gossip message: the states that a node publishes in one interval.

    Attributes:
        sender: Id of the publishing node.
        boot: Boot of that node.
        number: Number that grows with each message of one boot.
        lines: The sender's own state, and states of other nodes.
        digest: Id, boot and counter of states that the sender knows.
        tombs: Id and boot of nodes that are dead or left.
        span: Range of ids that `digest` lists completely: from the first, up to but without the second. An
            empty second: the end. `nil`: there is no digest.
    """

    sender: Uuid
    boot: Natural
    number: Natural
    lines: Annotated[tuple[StateLine, ...], Meta(max_length=MOST)] = ()
    digest: Annotated[tuple[DigestEntry, ...], Meta(max_length=MOST)] = ()
    tombs: Annotated[tuple[tuple[Uuid, Natural], ...], Meta(max_length=MOST)] = ()
    span: tuple[DigestEdge, DigestEdge] | None = None


def encode(message: StateMessage) -> bytes:
    """Return the message as one msgpack array."""
    return msgspec.msgpack.encode(message)


def line_of(said: object) -> StateLine | None:
    """Return `said` converted to a StateLine, or None if it is invalid."""
    try:
        return msgspec.convert(said, StateLine)
    except msgspec.ValidationError:
        return None


_decode = msgspec.msgpack.Decoder(StateMessage).decode


def decode(data: bytes) -> StateMessage:
    """Return the message that `encode` wrote, without decoding the states in it. Raises: ValueError."""
    if len(data) > LONGEST:
        raise ValueError(f"the gossip has {len(data)} bytes; at most {LONGEST} are allowed")
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not gossip: {error}") from error
