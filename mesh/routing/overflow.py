"""How much may a subscriber hold back, and what gives way when it does not keep up?"""

from dataclasses import dataclass
from enum import StrEnum

from mesh.errors import BadQuery, shown


class Overflow(StrEnum):
    """The fate of transient messages that find no room. Persistent ones wait, whatever it says."""

    BLOCK = "block"  # publishers wait while it makes progress; behind one that stands still, the newest go
    DROP_NEWEST = "drop_newest"  # nobody waits
    DROP_OLDEST = "drop_oldest"  # nobody waits: what has waited longest makes room
    ERROR = "error"  # the subscription ends


@dataclass(frozen=True, slots=True)
class Credit:
    """Bounds of one feed: bytes and items under way, bytes waiting here, messages of either (0: any)."""

    bytes: int
    items: int
    backlog: int
    messages: int = 0


def overflow(text: str) -> Overflow:
    """The policy of that name, "" for the usual one; BadQuery for any other."""
    try:
        return Overflow(text or Overflow.BLOCK)
    except ValueError:
        names = ", ".join(Overflow)
        what = f"there is no overflow policy {shown(text)}."
        raise BadQuery(what, hint=f"There are {names}.") from None
