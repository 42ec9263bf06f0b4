"""The origin of an envelope: the party that sent it to this node and gets its answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import ClassVar, Protocol

from msgspec import Struct

from mesh.wire.commands import Answer

# Law 1: origins of the same party are equal and have the same hash, even after a reconnect.
# Law 2: only an origin decides what depends on the kind of the party.


class Origin(Protocol):
    """The clients of this node, a peer, or a gateway of another site."""

    is_local: ClassVar[bool]  # a client of this node, which keeps its messages until they are answered

    def answer(self, stream: bytes, answer: Answer) -> None:
        """Send an answer for messages of `stream` when the current event ends."""

    def is_there(self) -> bool:
        """Return whether the party is connected, so that it can be answered."""

    def pace(self, stream: bytes) -> Hashable:
        """Return the key under which the answers for `stream` keep their order."""

    def features(self) -> Collection[str]:
        """Return the features of a peer; empty for other parties."""

    def link(self) -> object:
        """Return the object that identifies the link session with a peer, or `None`."""


class Local(Struct, frozen=True):
    """All clients of this node: the stream of an envelope names the session."""

    is_local: ClassVar[bool] = True
    answer: Callable[[bytes, Answer], None]

    def is_there(self) -> bool:
        return True

    def pace(self, stream: bytes) -> Hashable:
        return stream

    def features(self) -> Collection[str]:
        return ()

    def link(self) -> object:
        return None
