"""What is for somebody in another site: which site is that, and what is he called there?

`/site/NYC/node/gull/client/ann` is a client or session there, `/site/NYC/calc/add` an address that is served
there, by whatever node.
"""

from __future__ import annotations

from functools import lru_cache

from mesh.errors import BadName
from mesh.names import CLIENT, OTHERS, node_name
from mesh.sites.pauses import FOR_NOW

WAY = "site/"  # begins what stands for another site where otherwise stands the name of a node; no node has it
UNREACHABLE = "SITE_UNREACHABLE"  # the code of what is said where no way leads to a site now
WAY_LOST = "WAY_LOST"  # of a letter: it was lost on its way, or has no room there now, and goes again
# What is said of the way by which it came last, and not of the letter, which may have come by another. But
# who has no leave, or names no node, is told so: nobody knows more of that later.
_OF_ITS_WAY = FOR_NOW | {"CIRCULAR_LOOP"}
UNKNOWN = "knows no site"  # stands in what is said of a site to which nothing waits, as its name may be wrong
_LOCAL = ("node", CLIENT)  # first levels of names of clients and sessions


def way_to(site: str) -> str:
    """The hop by which something goes to that site."""
    return WAY + site


def goes_again(state: str, may_be_there: bool) -> bool:
    """Is that no last word of a letter? What may have come there before is not refused because of its way."""
    return state == WAY_LOST or (may_be_there and state in _OF_ITS_WAY)


@lru_cache(maxsize=1024)  # asked for each letter; what is no name is not kept
def split(to: str) -> tuple[str, str]:
    """(site, what it is called there); the site is "" of what is for somebody here. BadName."""
    if not to.startswith(OTHERS):
        return "", to
    site, _, rest = to.removeprefix(OTHERS).partition("/")
    if not rest:
        hint = f"Write {OTHERS}{site[:64]}/node/NAME/client/NAME, or {OTHERS}{site[:64]}/ADDRESS."
        raise BadName(f"{to[:80]!r} names nobody in that site.", hint=hint)
    return node_name(site), f"/{rest}" if rest.startswith("node/") else rest
