"""Direct messages to other sites: the names of their receivers, and which refusals are final.

`/site/NYC/node/gull/client/ann` is a client or session there, `/site/NYC/calc/add` an address that any node
there serves.
"""

from __future__ import annotations

from functools import lru_cache

from mesh.errors import BadName
from mesh.names import CLIENT, OTHERS, node_name
from mesh.sites.stream_backoff import FOR_NOW

WAY = "site/"  # prefix of a hop that names a site
UNREACHABLE = "SITE_UNREACHABLE"  # code when no gateway reaches a site
WAY_LOST = "WAY_LOST"  # code when a direct message is to be resent
# These refusals concern the latest route of the message, which may have arrived over another route. A missing
# right or a wrong node name is final.
_OF_ITS_WAY = FOR_NOW | {"CIRCULAR_LOOP"}
UNKNOWN = "does not know the site"  # part of the text for an unknown site
_LOCAL = ("node", CLIENT)  # first levels of names of clients and sessions


def way_to(site: str) -> str:
    return WAY + site


def goes_again(state: str, may_be_there: bool) -> bool:
    """Return whether an answer with the code `state` is not final, so that the message is resent.

    If the message may have arrived before, a refusal because of its latest route is not final.
    """
    return state == WAY_LOST or (may_be_there and state in _OF_ITS_WAY)


@lru_cache(maxsize=1024)  # called for each direct message
def split(to: str) -> tuple[str, str]:
    """Return (site, name in that site); the site is "" for a receiver here. Raises: BadName."""
    if not to.startswith(OTHERS):
        return "", to
    site, _, rest = to.removeprefix(OTHERS).partition("/")
    if not rest:
        hint = f"Write {OTHERS}{site[:64]}/node/NAME/client/NAME, or {OTHERS}{site[:64]}/ADDRESS."
        raise BadName(f"{to[:80]!r} names no receiver in that site.", hint=hint)
    return node_name(site), f"/{rest}" if rest.startswith("node/") else rest
