"""Forwarded envelopes that wait until this node knows whether the peer may forward them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mesh.errors import RemoteError
from mesh.hops import inside
from mesh.kernel.peers.peer import Peer
from mesh.wire.envelope import Envelope

PATIENCE = 2.0  # s after which an envelope is not believed
WINDOWS = 4  # connection windows that may wait, per peer
EACH = 1024  # bytes of an envelope beside its body
Believes = Callable[[Peer, Envelope], bool]


@dataclass(slots=True)
class HeldEnvelopes:
    """The envelopes that one peer has forwarded, in order, with the time from which each waits."""

    envelopes: list[tuple[float, Envelope]] = field(default_factory=list)
    size: int = 0
    streams: Counter[bytes] = field(default_factory=Counter)

    def add(self, since: float, envelope: Envelope) -> None:
        self.envelopes.append((since, envelope))
        self.size += EACH + len(envelope.body) + len(envelope.xml)
        self.streams[envelope.stream] += 1


class HeldByPeer:
    """The waiting envelopes of all peers.

    A window counts bytes and envelopes, as on the link itself.
    """

    def __init__(self, window_bytes: int, window_count: int) -> None:
        self._most = WINDOWS * (window_bytes + EACH * window_count)
        self._of: dict[Peer, HeldEnvelopes] = {}

    def __bool__(self) -> bool:
        return bool(self._of)

    def __len__(self) -> int:
        return sum(len(waiting.envelopes) for waiting in self._of.values())

    def follows(self, peer: Peer, envelope: Envelope) -> bool:
        """Return whether an earlier envelope of the same stream waits, so that this one must wait too."""
        return peer in self._of and envelope.stream in self._of[peer].streams

    def add(self, peer: Peer, envelope: Envelope, now: float) -> None:
        self._of.setdefault(peer, HeldEnvelopes()).add(now, envelope)

    def is_crowded(self, peer: Peer) -> bool:
        """Return whether that peer has forwarded more than may wait."""
        return peer in self._of and self._of[peer].size > self._most

    def bound(self, peer: Peer) -> None:
        """Drop the waiting envelopes of a peer and raise RemoteError if they exceed the limit.

        The peer resends them on its next connection.
        """
        if self.is_crowded(peer):
            self.drop_peer(peer)
            text = f"{peer.node.name} sent more than {self._most} bytes over routes that no node confirms"
            raise RemoteError(text, code="FORGED_SENDER")

    def drop_peer(self, peer: Peer) -> None:
        """Drop the envelopes of a peer whose connection ended; the peer resends them on its next one."""
        self._of.pop(peer, None)

    def take_decided(
        self, now: float, believes: Believes, denies: Believes = lambda peer, envelope: False
    ) -> Iterator[tuple[Peer, Envelope, bool]]:
        """Remove and yield the envelopes whose wait is over, each with whether it is believed.

        An envelope is believed if `believes` holds and no earlier envelope of its stream waits. Otherwise its
        wait ends after PATIENCE, or if `denies` holds while the peer exceeds the limit.
        """
        crowded = {peer for peer in self._of if self.is_crowded(peer)}
        before, self._of = self._of, {}
        for peer, waiting in before.items():
            stays = HeldEnvelopes()
            for since, envelope in waiting.envelopes:
                is_believed = envelope.stream not in stays.streams and believes(peer, envelope)
                is_over = now - since >= PATIENCE or (peer in crowded and denies(peer, envelope))
                if is_believed or is_over:
                    yield peer, envelope, is_believed
                else:
                    stays.add(since, envelope)
            if stays.envelopes:
                self._of[peer] = stays

    def ways(self) -> dict[Peer, list[str]]:
        """Return the peers with waiting envelopes, each with the nodes before the last one on the routes."""
        return {
            peer: list(dict.fromkeys(hop.node for _, e in waiting.envelopes for hop in inside(e.route)[:-1]))
            for peer, waiting in self._of.items()
        }

    def deadline(self) -> float | None:
        """Return when the first envelope has waited long enough, or `None` if none waits."""
        return min((waiting.envelopes[0][0] + PATIENCE for waiting in self._of.values()), default=None)
