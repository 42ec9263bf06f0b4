"""Two sites have set one topic: which value stays?"""

# Law: every site decides alike, in whatever order it hears of them; so stamps are those of the origin.

from __future__ import annotations

from hashlib import blake2b

from mesh.reserved import CONFLICTS
from mesh.values import LONGEST_KEY

_DIGEST = 16  # bytes


def wins(stamp_a: int, site_a: str, stamp_b: int, site_b: str) -> bool:
    """Does a stay, and b go? The newer one does; of two that are as new that of the later name."""
    return (stamp_a, site_a) > (stamp_b, site_b)


def conflict_key(key: str, domain: str = "") -> str:
    """The topic under which the value that lost is kept, in no domain. A long key is cut, and told by its
    digest; so is the domain in which it was published.
    """
    whole = f"{CONFLICTS}{key}{f'@{domain}' if domain else ''}"
    if len(whole) <= LONGEST_KEY and not {"+", "#"} & {*domain}:
        return whole
    digest = blake2b(f"{domain}\0{key}".encode(), digest_size=_DIGEST).hexdigest()
    whole = CONFLICTS + key
    return f"{whole[: LONGEST_KEY - len(digest) - 1]}~{digest}"
