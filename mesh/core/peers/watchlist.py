"""The watchlist: for which peers may time alone matter? Those that only wait for their next dial rest."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf

from mesh.core.peers.peer import Peer
from mesh.core.peers.reach_table import ReachState

SPARE = 64  # rows of what is over that may be kept, beside as many as there are others

# Whoever begins something with a peer adds it. It stays as long as something is connected, wanted or waited
# for; then one that is away, or was told of, is looked at again when its next dial is due, and others never.


class Resting:
    """Peers that wait for their next dial, the earliest first."""

    def __init__(self) -> None:
        self._due: dict[Peer, float] = {}
        self._order: list[tuple[float, int, Peer]] = []  # of these, and of some that rest no more
        self._number = 0  # two that are due at once are dialled in the order in which they came here

    def __len__(self) -> int:
        return len(self._due)

    def add(self, peer: Peer) -> None:
        self._number += 1
        self._due[peer] = peer.reach.due
        heappush(self._order, (peer.reach.due, self._number, peer))
        if len(self._order) > 2 * len(self._due) + SPARE:
            self._order = [row for row in self._order if self._due.get(row[2]) == row[0]]
            heapify(self._order)

    def remove(self, peer: Peer) -> None:
        """That one rests no more, if it did."""
        self._due.pop(peer, None)

    def take(self, now: float, most: int) -> list[Peer]:
        """So many whose dial is due. They rest no more."""
        found: list[Peer] = []
        while len(found) < most and self.next_dial <= now:
            found.append(self._order[0][2])
            self.remove(found[-1])
        return found

    @property
    def next_dial(self) -> float:
        """When the first is due."""
        while self._order and self._due.get(self._order[0][2]) != self._order[0][0]:
            heappop(self._order)
        return self._order[0][0] if self._order else inf


class Watchlist:
    """Peers that are looked at in each round, and those that rest: news before what was tried in vain."""

    def __init__(self) -> None:
        self._active: dict[Peer, None] = {}
        self._news, self._away = Resting(), Resting()

    def __len__(self) -> int:
        return len(self._active) + len(self._news) + len(self._away)

    def add(self, peer: Peer) -> None:
        """Something begins with this peer."""
        self._active[peer] = None
        self._news.remove(peer)
        self._away.remove(peer)

    def forget(self, peer: Peer) -> None:
        """That peer is no more."""
        self._active.pop(peer, None)
        self._news.remove(peer)
        self._away.remove(peer)

    def active(self) -> list[Peer]:
        """All with which something goes on: they are few, however many are known."""
        for peer in [peer for peer in self._active if not peer.is_active]:
            del self._active[peer]
            if peer.node.address and peer.reach.state is ReachState.TOLD_OF:
                self._news.add(peer)
            elif peer.node.address and peer.reach.state is ReachState.AWAY:
                self._away.add(peer)
        return list(self._active)

    def due(self, now: float, most: int, is_crowd: bool) -> list[Peer]:
        """So many of those that rest whose dial is due. In a crowd whoever is away is not tried again."""
        found = self._news.take(now, most)
        if not is_crowd:
            found += self._away.take(now, most - len(found))
        for peer in found:
            self._active[peer] = None
        return found

    def next_dial(self, is_crowd: bool) -> float:
        """When the first of those that rest is due."""
        return self._news.next_dial if is_crowd else min(self._news.next_dial, self._away.next_dial)
