"""Has another site a store that was never seen before? Then it lacks what it was sent until now.

What is seen of a site are its gateways: each has a store, by the uuid that lies there, and counts in it how
often it was started. Who was started less often than before has a new one; so has a site of which nobody is
there who was there before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

LOSSES, NAME, BOOT = 8, 8, 8  # bytes of a note, and for each gateway
LARGEST = 2 ** (8 * BOOT) - 1
MOST = 64  # gateways of one site that are remembered

# Law 1: who is seen again as he was is no news, whoever sees him, and after any restart of ours.
# Law 2: of a site of which nothing is known nothing is new: it was named just now.


def note(losses: int, gateways: Iterable[tuple[bytes, int]]) -> bytes:
    """What a gateway of ours says of a site: how many connections it has lost, and the uuids and starts of
    those with which it is linked now.
    """
    names = ((blake2b(uuid, digest_size=NAME).digest(), min(boot, LARGEST)) for uuid, boot in gateways)
    return losses.to_bytes(LOSSES) + b"".join(name + boot.to_bytes(BOOT) for name, boot in sorted(names))


def broken(before: Mapping[bytes, bytes], now: Mapping[bytes, bytes]) -> list[bytes]:
    """The gateways of ours, by uuid, of which it is lost what was under way: they are none any more, or say
    that they have lost a connection.
    """
    return [uuid for uuid, said in before.items() if now.get(uuid, b"")[:LOSSES] != said[:LOSSES]]


def stores_of(said: bytes) -> Iterator[tuple[bytes, int]]:
    """The stores that a note names; of one that is cut, or older, those that are there."""
    for at in range(LOSSES, len(said) - NAME - BOOT + 1, NAME + BOOT):
        yield said[at : at + NAME], int.from_bytes(said[at + NAME : at + NAME + BOOT])


class SiteStores:
    """Those of one site. `starts`: by its name, how often each was started when it was last seen."""

    def __init__(self, starts: Iterable[tuple[bytes, int]] = ()) -> None:
        self._starts = OrderedDict(starts)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def is_new(self, stores: Iterable[tuple[bytes, int]]) -> bool:
        """Does the site of which these are there now lack what it was sent?"""
        shown = [(boot, self._starts.get(name)) for name, boot in stores]
        is_another = bool(shown) and all(known is None for _, known in shown)
        return bool(self) and (is_another or any(known is not None and boot < known for boot, known in shown))

    def see(self, stores: Iterable[tuple[bytes, int]]) -> bool:
        """They are known from now on. True: that is news."""
        news = [(name, boot) for name, boot in stores if self._starts.get(name) != boot]
        for name, boot in news:
            self._starts.pop(name, None)
            self._starts[name] = boot
        while len(self._starts) > MOST:
            self._starts.popitem(last=False)
        return bool(news)

    def pack(self) -> bytes:
        return b"".join(name + boot.to_bytes(BOOT) for name, boot in self._starts.items())

    @classmethod
    def unpack(cls, row: bytes) -> SiteStores:
        return cls(stores_of(bytes(LOSSES) + row))
