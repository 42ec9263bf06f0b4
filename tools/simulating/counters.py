"""What must have happened now and then? Stories in which it never did have tested less than they say."""

from __future__ import annotations

from collections import Counter

ENOUGH = 300  # stories after which a zero is a failure
SOMETIMES = (
    "crash before the commit", "crash in the commit", "crash after the commit", "crash after the answer",
    "resend deduplicated", "session taken up again", "gap told", "last value to a late subscriber",
    "answered STORE_FULL", "answered TAILBACK_FULL", "answered FORWARD_WARNING", "FORWARD_WARNING, then OK",
    "answered PARTLY_REFUSED", "answered NOT_CONNECTED", "answered UNKNOWN_NODE", "message expired",
    "dead letter",
    "refuted suspicion", "name conflict", "stale advert", "hello refused",
    "data loss refused", "step back refused", "stopped by its disk", "went on after a stop",
    "wall clock jumped",
    "publisher went to another node", "get: MASTER_AWAY", "erase: MASTER_AWAY",
    "asked in vain: NO_HANDLERS", "asked in vain: HANDLER_LOST", "asked in vain: TIMEOUT",
)  # fmt: skip


def never(counts: Counter[str], stories: int) -> list[str]:
    """The things that should have happened in so many stories of all profiles, and did not."""
    return [what for what in SOMETIMES if not counts[what]] if stories >= ENOUGH else []
