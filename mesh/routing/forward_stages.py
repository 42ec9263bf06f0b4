"""Stages of a pending forward: how far it was sent, and which node keeps it for its publisher."""

from __future__ import annotations

from enum import Enum

# Law 1: an entry changes from one stage to another only as TRANSIT_AFTER and KEEPING_AFTER allow.
# Law 2: an entry with its final answer is never sent again.
# Law 3: this node never hands back the duty to keep an entry.


class Transit(Enum):
    """The progress of an entry on its way to its hops."""

    UNSENT = "no node has it"
    SENT = "a node may have it"
    SENT_AGAIN = "a node may have had it before it was last sent"
    DONE = "no origin waits for it any longer"


class Keeping(Enum):
    """Keeper of an entry until it is answered, and whether its publisher was warned of the wait."""

    PASSING = ("another node keeps it", False, False)
    PASSING_WARNED = ("another node keeps it, and was warned", False, True)
    KEPT = ("this node keeps it in memory", True, False)
    KEPT_WARNED = ("this node keeps it in memory, and has warned its publisher", True, True)
    STORING = ("this node warns its publisher as soon as it is on disk", True, True)
    STORED = ("this node keeps it on disk, and has warned its publisher", True, True)
    COMMITTING = ("it must not leave before its transaction is committed", True, True)

    def __init__(self, text: str, is_kept: bool, is_warned: bool) -> None:
        self.text = text
        self.is_kept = is_kept
        self.is_warned = is_warned


UNSENT, SENT, SENT_AGAIN, DONE = Transit

TRANSIT_AFTER: dict[Transit, tuple[Transit, ...]] = {
    UNSENT: (SENT, DONE),
    SENT: (SENT_AGAIN, UNSENT, DONE),  # UNSENT: the node handed it back
    SENT_AGAIN: (UNSENT, DONE),
    DONE: (),
}
KEEPING_AFTER: dict[Keeping, tuple[Keeping, ...]] = {
    Keeping.PASSING: (Keeping.PASSING_WARNED, Keeping.KEPT),  # KEPT: its publisher came to this node
    Keeping.PASSING_WARNED: (Keeping.KEPT,),
    # STORED: an earlier process of this node has stored it.
    Keeping.KEPT: (Keeping.KEPT_WARNED, Keeping.STORING, Keeping.STORED, Keeping.COMMITTING),
    Keeping.KEPT_WARNED: (),
    Keeping.STORING: (Keeping.STORED, Keeping.KEPT),  # KEPT: it could not be stored, or not yet
    Keeping.STORED: (),
    Keeping.COMMITTING: (Keeping.STORED, Keeping.KEPT_WARNED),
}
