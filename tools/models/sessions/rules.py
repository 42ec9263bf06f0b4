"""The decisions about moving sessions, as functions without state, which the models call.

Sets of positions, nodes and masters are bits of an integer (`bits.py`). Attach number 0 means "no session".
"""

# Law 1: the highest attach number wins; a node acts for a session only with the highest number that it knows.
# Law 2: a node settles a position if the client has acknowledged it, or if the master has accepted a resume
# that covers it.
# Law 3: a master resumes from the client's cursor, that position included, and ends at its last position.
# Law 4: a former node is released master by master, each after that master has accepted the resume.

from __future__ import annotations

from enum import Enum

from tools.models.sessions.bits import bit, highest, lowest, up_to


class Verdict(Enum):
    """The verdict of a master about a sequence number."""

    NEW = "new"
    LATE = "late"  # unseen, and below one that was accepted
    REPEAT = "repeat"


# --- visits -------------------------------------------------------------------------------------------------


def is_visit_admitted(attach: int, known: int) -> bool:
    """Return whether a node admits a visit, if `known` is the highest attach number that it knows."""
    return attach > known


def is_outdated(attach: int, known: int) -> bool:
    """Return whether a node refuses a RESUME, HOLD or MOVED because it knows a higher attach number."""
    return attach < known


def former_nodes(former: int, last: int, visited: int) -> int:
    """Return the former nodes that a client names at a visit, if it comes from `last`."""
    return (former | bit(last)) & ~bit(visited)


def cursors(received: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cursor of each master: the highest position that the client has received from it."""
    return tuple(highest(positions) for positions in received)


def may_give_up(attach: int, known: int) -> bool:
    """Return whether a node may give the session up while its client stays away.

    A former node must wait for its release.
    """
    return attach != 0 and attach == known


# --- resuming -----------------------------------------------------------------------------------------------


def resumed_range(since: int, end: int) -> tuple[int, int]:
    """Return the first and last position of a resume feed, if `end` is the master's last position.

    The cursor itself is included: another part of that position may have arrived by another route. The feed
    is empty if the first position is above the last one.
    """
    return max(since, 1), end


def remaining_range(first: int, last: int, done: int) -> tuple[int, int] | None:
    """Return the rest of a resume feed after its first positions are `done`, or `None` if it is empty."""
    while first <= last and done & bit(first):
        first += 1
    return (first, last) if first <= last else None


def is_covered(position: int, end: int, has_resumed: bool, is_current: bool) -> bool:
    """Return whether a position of the ordinary feed reaches the client by the resume feed instead."""
    return is_current and has_resumed and position <= end


def held_after_resume(held: int, end: int) -> int:
    """Return the positions that a node still holds once a resume feed covers those up to `end`."""
    return held & ~up_to(end)


def deliverable(resumed: int, held: int, is_complete: bool) -> int:
    """Return the positions of a master that may be delivered.

    The ordinary feed waits until the resume feed is complete, so the order holds.
    """
    return resumed | held if is_complete else resumed


def settled_position(received: int, held: int) -> int:
    """Return the last position that a node may settle with a master."""
    return min(received, lowest(held) - 1) if held else received


def slave_position(received: int, unacknowledged: int) -> int:
    """Return the position from which a slave resumes when its route changes.

    Messages that its clients have not acknowledged are in its memory alone, so they are included.
    """
    return lowest(unacknowledged) if unacknowledged else received


# --- releasing ----------------------------------------------------------------------------------------------


def releasable(confirmed: int, released: int) -> int:
    """Return the masters for which a former node is released, if `confirmed` have accepted the resume."""
    return confirmed | released


def is_closed(released: int, masters: int) -> bool:
    """Return whether a former node closes the session: it is released for all masters."""
    return released == masters


# --- sequence numbers and queues ----------------------------------------------------------------------------


def number_verdict(number: int, accepted: int) -> Verdict:
    """Return the verdict about a number, after the numbers `accepted`."""
    if accepted & bit(number):
        return Verdict.REPEAT
    return Verdict.LATE if number < highest(accepted) else Verdict.NEW


def unanswered(numbers: int, sent: int, final: int, warned: int) -> int:
    """Return the numbers that a publisher sends on this connection.

    A number in `warned` was stored by an earlier node. It has no final answer, so it is sent again.
    """
    return numbers & ~sent & ~final


def is_claimable(is_delivered: bool, owner: int) -> bool:
    """Return whether HOLD gets a message: it is delivered, and `owner` is an attach number of the session."""
    return is_delivered and owner > 0


def keeps_delivery(is_marked: bool, owner: int) -> bool:
    """Return whether a restarted part awaits the consumer of a delivery, instead of requeuing the message."""
    return is_marked and owner > 0


def is_redelivered(was_redelivered: bool, was_marked: bool) -> bool:
    """Return whether a message that returns to its queue is marked as redelivered."""
    return was_redelivered or was_marked
