"""Wire format of gossip: states of nodes as signed lines, digests and tombstones."""

from typing import Annotated

import msgspec
from msgspec import Meta

from discovery.state import LONGEST as LONGEST_STATE
from discovery.state import Natural, Uuid

LONGEST = 256 * 1024  # bytes of one message
MOST = 512  # entries of each of its lists

Version = tuple[int, int]  # (boot, counter)
DigestEntry = tuple[Uuid, Natural, Natural]  # uuid, boot, counter
DigestEdge = Annotated[bytes, Meta(max_length=16)]  # a bound in the order of uuids


class StateLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """State of a node at one moment as its owner signed it, relayed unchanged."""

    uuid: Uuid
    boot: Natural
    counter: Natural
    state: Annotated[bytes, Meta(max_length=LONGEST_STATE)]  # an encoded NodeState
    signature: Annotated[bytes, Meta(max_length=64)] = b""  # of `state`, by the owner's Ed25519 key
    # Whether the owner asks each receiver to relay the line once.
    far: bool = False

    @property
    def version(self) -> Version:
        return self.boot, self.counter


class StateMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A gossip message: what one node publishes in one interval.

    The digest lists all states that the sender knows with uuids in `span`, from the first bound to before the
    second. An empty second bound means the end. Without a span there is no digest.
    """

    sender: Uuid
    boot: Natural
    number: Natural  # grows with each message of one boot
    lines: Annotated[tuple[StateLine, ...], Meta(max_length=MOST)] = ()
    digest: Annotated[tuple[DigestEntry, ...], Meta(max_length=MOST)] = ()
    tombs: Annotated[tuple[tuple[Uuid, Natural], ...], Meta(max_length=MOST)] = ()
    span: tuple[DigestEdge, DigestEdge] | None = None


def encode(message: StateMessage) -> bytes:
    """Return the message as one msgpack array."""
    return msgspec.msgpack.encode(message)


def line_of(said: object) -> StateLine | None:
    """Return the line in an answer, or None if `said` is not one."""
    try:
        return msgspec.convert(said, StateLine)
    except msgspec.ValidationError:
        return None


_decode = msgspec.msgpack.Decoder(StateMessage).decode


def decode(data: bytes) -> StateMessage:
    """Return the message that `encode` wrote, without decoding the states in it. Raises: ValueError."""
    if len(data) > LONGEST:
        raise ValueError(f"gossip of {len(data)} bytes, at most {LONGEST} are allowed")
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not gossip: {error}") from error
