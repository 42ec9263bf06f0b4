"""Two sites have set one topic: which value stays?"""

# Law: every site decides alike, in whatever order it hears of them; so stamps are those of the origin.

from __future__ import annotations

from hashlib import blake2b

from mesh.patterns import SYSTEM
from mesh.values import LONGEST_KEY

CONFLICTS = f"{SYSTEM}conflict/"
_DIGEST = 16  # bytes


def wins(stamp_a: int, site_a: str, stamp_b: int, site_b: str) -> bool:
    """Does a stay, and b go? The newer one does; of two that are as new that of the later name."""
    return (stamp_a, site_a) > (stamp_b, site_b)


def conflict_key(key: str) -> str:
    """The topic under which the value that lost is kept. A long key is cut, and told by its digest."""
    whole = CONFLICTS + key
    if len(whole) <= LONGEST_KEY:
        return whole
    digest = blake2b(key.encode(), digest_size=_DIGEST).hexdigest()
    return f"{whole[: LONGEST_KEY - len(digest) - 1]}~{digest}"
