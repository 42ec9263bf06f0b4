"""What is a stream of another site called here? So that nobody there can speak in a stream of ours.

The names of streams are seen by all who read what is published in them, and numbers of a stream are taken
once: who brings one first has the say. So what comes from another site has another name here, which nobody
there can foresee, and which every node of this site can turn back.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

HALF = 8  # bytes
ROUNDS = 4

# Law 1: of one site every stream has one name here, at every node and after every restart.
# Law 2: the name is turned back by whoever has the secret, and by nobody else.


class Aliases:
    """A keyed permutation of the names of streams, one for each other site (a Feistel network)."""

    def __init__(self, secret: bytes) -> None:
        self._key = blake2b(b"heronry streams of other sites", key=secret[:64], digest_size=32).digest()
        self.here = lru_cache(maxsize=4096)(self._here)
        self.there = lru_cache(maxsize=4096)(self._there)

    def _here(self, site: str, stream: bytes) -> bytes:
        """The name that a stream of that site has in this one."""
        left, right = stream[:HALF], stream[HALF:]
        for number in range(ROUNDS):
            left, right = right, self._mixed(site, number, right, left)
        return left + right

    def _there(self, site: str, alias: bytes) -> bytes:
        """The name in that site of what is called so here."""
        left, right = alias[:HALF], alias[HALF:]
        for number in reversed(range(ROUNDS)):
            left, right = self._mixed(site, number, left, right), left
        return left + right

    def _mixed(self, site: str, number: int, by: bytes, half: bytes) -> bytes:
        mask = blake2b(bytes((number,)) + by + site.encode(), key=self._key, digest_size=HALF).digest()
        return (int.from_bytes(mask) ^ int.from_bytes(half)).to_bytes(HALF)
