"""The watchlist: the peers that may be due for a dial, a ping or a timeout."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf

from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachState

SPARE = 64  # obsolete rows kept, beyond the live count

# A component that begins something with a peer adds it. The peer stays while anything is connected, wanted or
# waited for. After that, only peers that are away or newly sighted are examined, when their next dial is due.


class Resting:
    """Peers that wait for their next dial, the earliest first."""

    def __init__(self) -> None:
        self._due: dict[Peer, float] = {}
        self._order: list[tuple[float, int, Peer]] = []  # also obsolete rows
        self._number = 0  # breaks ties by arrival

    def __len__(self) -> int:
        return len(self._due)

    def add(self, peer: Peer) -> None:
        self._number += 1
        self._due[peer] = peer.reach.due
        heappush(self._order, (peer.reach.due, self._number, peer))
        if len(self._order) > 2 * len(self._due) + SPARE:
            self._order = [row for row in self._order if self._due.get(row[2]) == row[0]]
            heapify(self._order)

    def remove_peer(self, peer: Peer) -> None:
        self._due.pop(peer, None)

    def take_due(self, now: float, most: int) -> list[Peer]:
        """Remove and return at most `most` peers whose dial is due."""
        found: list[Peer] = []
        while len(found) < most and self.next_dial <= now:
            found.append(self._order[0][2])
            self.remove_peer(found[-1])
        return found

    @property
    def next_dial(self) -> float:
        """The time when the first dial is due, or infinity if no peer waits."""
        while self._order and self._due.get(self._order[0][2]) != self._order[0][0]:
            heappop(self._order)
        return self._order[0][0] if self._order else inf


class Watchlist:
    """The active peers, which every round examines, and the resting ones.

    Newly sighted peers are dialed before peers that are away.
    """

    def __init__(self) -> None:
        self._active: dict[Peer, None] = {}
        self._news, self._away = Resting(), Resting()

    def __len__(self) -> int:
        return len(self._active) + len(self._news) + len(self._away)

    def add(self, peer: Peer) -> None:
        """Mark a peer as active, as a component begins work with it."""
        self._active[peer] = None
        self._news.remove_peer(peer)
        self._away.remove_peer(peer)

    def remove_peer(self, peer: Peer) -> None:
        self._active.pop(peer, None)
        self._news.remove_peer(peer)
        self._away.remove_peer(peer)

    def active(self) -> list[Peer]:
        """Remove the peers that need nothing now, and return the active ones.

        A removed peer rests until its next dial if it has an address, and is away or newly sighted.
        """
        for peer in [peer for peer in self._active if not peer.is_active]:
            del self._active[peer]
            if peer.node.address and peer.reach.state is ReachState.TOLD_OF:
                self._news.add(peer)
            elif peer.node.address and peer.reach.state is ReachState.AWAY:
                self._away.add(peer)
        return list(self._active)

    def take_due(self, now: float, most: int, is_crowd: bool) -> list[Peer]:
        """Activate at most `most` resting peers that are due, and return them.

        In a crowd, peers that are away are not dialed again.
        """
        found = self._news.take_due(now, most)
        if not is_crowd:
            found += self._away.take_due(now, most - len(found))
        for peer in found:
            self._active[peer] = None
        return found

    def next_dial(self, is_crowd: bool) -> float:
        """Return when the first resting peer is due; in a crowd, peers that are away do not count."""
        return self._news.next_dial if is_crowd else min(self._news.next_dial, self._away.next_dial)
