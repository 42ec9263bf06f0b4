"""What travels as gossip? States of nodes as signed lines, digests and tombstones, to bytes and back."""

from typing import Annotated

import msgspec
from msgspec import Meta

from discovery.state import LONGEST as LONGEST_STATE
from discovery.state import Natural, Uuid

LONGEST = 256 * 1024  # bytes of one message
MOST = 512  # entries of each of its lists

Version = tuple[int, int]  # (boot, counter)
DigestEntry = tuple[Uuid, Natural, Natural]  # of a digest: whose, boot, counter
DigestEdge = Annotated[bytes, Meta(max_length=16)]  # a place in the order of uuids


class StateLine(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One state of one node as it said it, passed on unchanged."""

    uuid: Uuid
    boot: Natural
    counter: Natural
    state: Annotated[bytes, Meta(max_length=LONGEST_STATE)]  # an encoded NodeState
    signature: Annotated[bytes, Meta(max_length=64)] = b""  # of `state`, by the owner's Ed25519 key
    far: bool = False  # the owner wants it known beyond those who hear the owner: hand it on, once

    @property
    def version(self) -> Version:
        return self.boot, self.counter


class StateMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message of gossip: what one node publishes in one interval.

    The digest lists all that the sender knows with uuids in `span`, that is from the first text up to,
    and not with, the second; an empty second text means the end. No span at all: there is no digest.
    """

    sender: Uuid
    boot: Natural
    number: Natural  # grows with each message of one boot
    lines: Annotated[tuple[StateLine, ...], Meta(max_length=MOST)] = ()
    digest: Annotated[tuple[DigestEntry, ...], Meta(max_length=MOST)] = ()
    tombs: Annotated[tuple[tuple[Uuid, Natural], ...], Meta(max_length=MOST)] = ()
    span: tuple[DigestEdge, DigestEdge] | None = None


def encode(message: StateMessage) -> bytes:
    """One msgpack array."""
    return msgspec.msgpack.encode(message)


def line_of(said: object) -> StateLine | None:
    """A line as somebody has put it into an answer; None if it is none."""
    try:
        return msgspec.convert(said, StateLine)
    except msgspec.ValidationError:
        return None


_decode = msgspec.msgpack.Decoder(StateMessage).decode


def decode(data: bytes) -> StateMessage:
    """The message that `encode` wrote; ValueError for anything else. The states inside are not read."""
    if len(data) > LONGEST:
        raise ValueError(f"gossip of {len(data)} bytes, at most {LONGEST} are allowed")
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"not gossip: {error}") from error
