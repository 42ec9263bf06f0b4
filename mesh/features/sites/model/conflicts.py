"""Names the topic that keeps a value which lost a conflict with another site."""

from __future__ import annotations

from hashlib import blake2b

from mesh.reserved import CONFLICTS
from mesh.values import LONGEST_KEY

_DIGEST = 16  # bytes


def conflict_key(key: str, domain: str = "") -> str:
    """Return the topic, in no domain, under which a losing value is kept.

    If the topic would be too long, or the domain contains a wildcard, a digest replaces the domain, and the
    key is shortened as needed.
    """
    whole = f"{CONFLICTS}{key}{f'@{domain}' if domain else ''}"
    if len(whole) <= LONGEST_KEY and not {"+", "#"} & {*domain}:
        return whole
    digest = blake2b(f"{domain}\0{key}".encode(), digest_size=_DIGEST).hexdigest()
    whole = CONFLICTS + key
    return f"{whole[: LONGEST_KEY - len(digest) - 1]}~{digest}"
