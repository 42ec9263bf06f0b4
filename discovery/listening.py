"""Whose gossip does a node hear itself, when they are too many to hear all?"""

# Law 1: up to FULL nodes everybody hears everybody.
# Law 2: above, nodes stand on RINGS circles, each in an order of its own that all agree upon, and hear
#        both neighbours on each. One circle alone connects all; several make the ways short.
# Law 3: who is heard hears back, and has as many listeners as anybody: the bytes of each node stay flat.
# Law 4: a node that comes or goes changes only its neighbours.

from collections.abc import Collection
from hashlib import blake2b

FULL = 32  # nodes, ourselves included
RINGS = 3
FAVOURITES = 64  # those that one balances over are heard as well, this many

CirclePlace = tuple[bytes, ...]  # on each circle


class Listening:
    """Chooses for the node `me`."""

    def __init__(self, me: bytes) -> None:
        self._me = me
        self._places: dict[bytes, CirclePlace] = {}

    def choose(self, alive: Collection[bytes], favourites: Collection[bytes]) -> set[bytes]:
        """The uuids to hear, never our own; those of `alive` that matter, and nobody else."""
        others = set(alive) - {self._me}
        if len(others) < FULL:
            return others
        self._places = {uuid: self._places.get(uuid) or _place(uuid) for uuid in others}
        return self._neighbours() | self._dearest(others.intersection(favourites))

    def _neighbours(self) -> set[bytes]:
        mine = _place(self._me)
        chosen = set()
        for ring in range(RINGS):
            there = {place[ring]: uuid for uuid, place in self._places.items()}
            before = [point for point in there if point < mine[ring]]
            after = [point for point in there if point > mine[ring]]
            chosen |= {there[max(before or after)], there[min(after or before)]}
        return chosen

    def _dearest(self, favourites: set[bytes]) -> set[bytes]:
        """Of too many always the same ones, and other ones at each node: the order differs by our uuid."""
        ordered = sorted(favourites, key=lambda uuid: blake2b(uuid, key=self._me, digest_size=8).digest())
        return set(ordered[:FAVOURITES])


def _place(uuid: bytes) -> CirclePlace:
    digest = blake2b(uuid, digest_size=8 * RINGS).digest()
    return tuple(digest[8 * ring : 8 * ring + 8] for ring in range(RINGS))
