"""Selection of the nodes whose gossip a node receives directly when it cannot listen to all of them."""

# Law 1: up to FULL nodes, each node receives the gossip of every other.
# Law 2: above FULL, nodes are placed on RINGS rings, each in an order that all nodes compute alike, and
# listen to both neighbors on each. One ring connects all nodes; several rings shorten the routes.
# Law 3: on the rings listening is mutual, and all nodes have the same number of listeners, so the traffic per
# node stays constant. Favorites are listened to in addition.
# Law 4: a node that joins or leaves changes only the lists of its neighbors.

from collections.abc import Collection
from hashlib import blake2b

FULL = 32  # nodes, including this one
RINGS = 3
FAVOURITES = 64  # balanced nodes that are also listened to

CirclePlace = tuple[bytes, ...]  # position on each ring


class Listening:
    """Selects the nodes that the node `me` listens to."""

    def __init__(self, me: bytes) -> None:
        self._me = me
        self._places: dict[bytes, CirclePlace] = {}

    def choose_nodes(self, alive: Collection[bytes], favourites: Collection[bytes]) -> set[bytes]:
        """Return the uuids to listen to: a subset of `alive`, never this node."""
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
        """Return at most FAVOURITES of the favorites.

        The choice depends on the uuids of this node and of the favorites, so that different nodes choose
        differently.
        """
        ordered = sorted(favourites, key=lambda uuid: blake2b(uuid, key=self._me, digest_size=8).digest())
        return set(ordered[:FAVOURITES])


def _place(uuid: bytes) -> CirclePlace:
    digest = blake2b(uuid, digest_size=8 * RINGS).digest()
    return tuple(digest[8 * ring : 8 * ring + 8] for ring in range(RINGS))
