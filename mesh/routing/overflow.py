"""The limits of a subscriber's backlog, and the policy when it falls behind."""

from dataclasses import dataclass
from enum import StrEnum

from mesh.errors import BadQuery
from mesh.shortening import shown


class Overflow(StrEnum):
    """Policy for transient messages without room.

    Persistent messages wait under each policy, up to the backlog limit.
    """

    BLOCK = "block"  # publishers wait while it progresses; else drop newest
    DROP_NEWEST = "drop_newest"  # no publisher waits
    DROP_OLDEST = "drop_oldest"  # no publisher waits
    ERROR = "error"  # the subscription ends


@dataclass(frozen=True, slots=True)
class Credit:
    """Limits of a feed: `bytes` and `items` in flight, and `backlog` bytes waiting.

    `messages` limits the messages in flight and, separately, the waiting transient ones; 0 means unlimited.
    """

    bytes: int
    items: int
    backlog: int
    messages: int = 0


def overflow(text: str) -> Overflow:
    """Return the policy with the name `text`, or the default for "". Raises: BadQuery."""
    try:
        return Overflow(text or Overflow.BLOCK)
    except ValueError:
        names = ", ".join(Overflow)
        what = f"Unknown overflow policy {shown(text)}."
        raise BadQuery(what, hint=f"Use one of {names}.") from None
