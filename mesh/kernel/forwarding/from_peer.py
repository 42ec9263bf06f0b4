"""The origin of envelopes that a peer forwards."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import ClassVar

from msgspec import Struct

from mesh.kernel.forwarding.peer_sender import PeerSender
from mesh.wire.commands import Answer, Outcome


class FromPeer(Struct, frozen=True):
    """A peer as the origin of messages, which the node of their publisher keeps until they are answered."""

    is_local: ClassVar[bool] = False
    sender: PeerSender
    uuid: bytes

    def answer(self, stream: bytes, answer: Answer) -> None:
        self.sender.add_answer(self.uuid, Outcome(stream, answer))

    def is_there(self) -> bool:
        peer = self.sender.peer_of(self.uuid)
        return peer is not None and peer.data is not None

    def pace(self, stream: bytes) -> Hashable:
        return self.uuid, stream

    def features(self) -> Collection[str]:
        peer = self.sender.peer_of(self.uuid)
        return () if peer is None else peer.speaks

    def link(self) -> object:
        peer = self.sender.peer_of(self.uuid)
        return peer.begun.outlet.life if peer is not None and peer.begun is not None else None
