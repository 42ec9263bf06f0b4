"""Renames the streams of other sites, so that no other site can write into a stream of this one.

Every reader of a stream sees the name of the stream, and accepts a sequence number once. A site that knew the
local name of a stream could therefore use up its sequence numbers. An alias is unpredictable for other sites,
and every node of this site can reverse an alias.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

HALF = 8  # bytes
ROUNDS = 4

# Law 1: a stream of one site has one alias here, at every node and after every restart.
# Law 2: an alias can be reversed only with the secret.


class Aliases:
    """Keyed permutations (Feistel networks) of stream names, a different one for each other site.

    `here(site, stream)` returns the alias in this site of a stream of `site`; `there(site, alias)` returns
    the name in `site` of the stream with that alias.
    """

    def __init__(self, secret: bytes) -> None:
        self._key = blake2b(b"heronry streams of other sites", key=secret[:64], digest_size=32).digest()
        self.here = lru_cache(maxsize=4096)(self._alias_here)
        self.there = lru_cache(maxsize=4096)(self._there)

    def _alias_here(self, site: str, stream: bytes) -> bytes:
        left, right = stream[:HALF], stream[HALF:]
        for number in range(ROUNDS):
            left, right = right, self._mixed(site, number, right, left)
        return left + right

    def _there(self, site: str, alias: bytes) -> bytes:
        left, right = alias[:HALF], alias[HALF:]
        for number in reversed(range(ROUNDS)):
            left, right = self._mixed(site, number, left, right), left
        return left + right

    def _mixed(self, site: str, number: int, by: bytes, half: bytes) -> bytes:
        mask = blake2b(bytes((number,)) + by + site.encode(), key=self._key, digest_size=HALF).digest()
        return (int.from_bytes(mask) ^ int.from_bytes(half)).to_bytes(HALF)
