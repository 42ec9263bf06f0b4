"""Messages about the names that a node has."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from mesh.discovery.state import Natural
from mesh.wire.command import Command, command
from mesh.wire.limits import WHERE

NameRow = tuple[Annotated[str, Meta(max_length=16)], Annotated[str, Meta(max_length=520)]]


@command
class FollowNames(Command, frozen=True, tag=55):
    """Request for NAMES, by a node with `nameservice`."""

    word: ClassVar[str] = WHERE


@command
class Names(Command, frozen=True, tag=56):
    """The names of the sender, at most 50,000: first all of them, then changes, at most every 2 s.

    Attributes:
        number: Number of this command: 1, 2, 3, … on each connection.
        more: Whether another part of the same list or change follows.
        add: New names: `["client", "client/joe"]`, `["address", ADDRESS]`, `["queue", NAME]` (a queue with
            messages or consumers) or `["site", NAME]` (a linked site).
        remove: Names that the node does not have any more.
    """

    word: ClassVar[str] = WHERE

    number: Natural
    more: bool = False
    add: tuple[NameRow, ...] = ()
    remove: tuple[NameRow, ...] = ()
