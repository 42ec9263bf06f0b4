"""Detects a new store in another site, which lacks the messages that the site was sent before.

A site is known through its gateways. Each gateway has a store with a uuid, which counts the starts of the
node. A store is new if its node was started less often than before, or if no known gateway is left.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

LOSSES, NAME, BOOT = 8, 8, 8  # bytes of a note, and per gateway
LARGEST = 2 ** (8 * BOOT) - 1
MOST = 64  # remembered gateways of one site

# Law 1: a store that is seen again unchanged is not new, whichever node sees it, and after any restart of
# ours.
# Law 2: a site without known stores has no new store, because it was just configured.


def note(losses: int, gateways: Iterable[tuple[bytes, int]]) -> bytes:
    """Return the note of a gateway of this site about another site.

    The note has the number of connections lost, and the uuids and boots of the gateways linked now.
    """
    names = ((blake2b(uuid, digest_size=NAME).digest(), min(boot, LARGEST)) for uuid, boot in gateways)
    return losses.to_bytes(LOSSES) + b"".join(name + boot.to_bytes(BOOT) for name, boot in sorted(names))


def broken(before: Mapping[bytes, bytes], now: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the uuids of this site's gateways whose messages in transit may be lost.

    These gateways have disappeared, or report a lost connection.
    """
    return [uuid for uuid, said in before.items() if now.get(uuid, b"")[:LOSSES] != said[:LOSSES]]


def stores_of(said: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the stores in a note. A truncated or older note yields the complete entries."""
    for at in range(LOSSES, len(said) - NAME - BOOT + 1, NAME + BOOT):
        yield said[at : at + NAME], int.from_bytes(said[at + NAME : at + NAME + BOOT])


class SiteStores:
    """The known stores of one site. `starts` maps each store to the number of its starts when last seen."""

    def __init__(self, starts: Iterable[tuple[bytes, int]] = ()) -> None:
        self._starts = OrderedDict(starts)

    def __bool__(self) -> bool:
        return bool(self._starts)

    def is_new(self, stores: Iterable[tuple[bytes, int]]) -> bool:
        """Return whether a site with these stores lacks messages that it was sent before."""
        shown = [(boot, self._starts.get(name)) for name, boot in stores]
        is_another = bool(shown) and all(known is None for _, known in shown)
        return bool(self) and (is_another or any(known is not None and boot < known for boot, known in shown))

    def see(self, stores: Iterable[tuple[bytes, int]]) -> bool:
        """Remember the stores. Return whether any of them was new or had been restarted."""
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
