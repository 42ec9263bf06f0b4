"""The decisions about moving sessions, in the terms of the models: those of the product, where it has them.

Sets of positions, nodes and masters are bits of an integer (`bits.py`). Attach number 0 means "no session".
"""

# Law 1: the highest attach number wins; a node acts for a session only with the highest number that it knows.
# Law 2: a node settles a position if the client has acknowledged it, or if the master has accepted a resume
# that covers it.
# Law 3: a master resumes from the client's cursor, that position included, and ends at its last position.
# Law 4: a former node is released master by master, each after that master has accepted the resume.

from __future__ import annotations

from enum import Enum
from math import inf

from mesh.client.core import visits as client_visits
from mesh.kernel.subscribers import clients, pull, resume_pins, resume_source, resuming, visit
from mesh.routing import aside, upstream, visits
from mesh.routing.visits import Standing
from tools.models.bits import between, bit, lowest
from tools.models.planting import remembered
from tools.models.sessions import product
from tools.models.sessions.product import ResumingFeed, members


class Verdict(Enum):
    """The verdict about a sequence number."""

    NEW = "new"
    LATE = "late"  # unseen, and below one that was received
    REPEAT = "repeat"


# --- visits -------------------------------------------------------------------------------------------------


@remembered
def is_visit_admitted(attach: int, known: int) -> bool:
    """Return whether a node admits a visit, if `known` is the highest attach number that it knows."""
    return visits.compare(attach, known) is Standing.NEWER


@remembered
def is_outdated(attach: int, known: int) -> bool:
    """Return whether a node refuses a RESUME, HOLD or MOVED because it knows a higher attach number."""
    return visits.compare(attach, known) is Standing.OUTDATED


@remembered
def former_nodes(former: int, last: int, visited: int) -> int:
    """Return the former nodes that a client names at a visit, if it comes from `last`."""
    return sum(map(bit, client_visits.former_nodes(members(former), last, visited)))


@remembered
def cursors(received: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cursor of each master: the highest position that the client has received from it."""
    return product.cursor(received)


@remembered
def may_give_up(attach: int, known: int) -> bool:
    """Return whether a node may give the session up while its client stays away.

    A former node must wait for its release.
    """
    return attach != 0 and clients.linger_of(is_outdated(attach, known), True, 0.0, inf) == 0


# --- resuming -----------------------------------------------------------------------------------------------


@remembered
def resumed_range(since: int, end: int) -> tuple[int, int]:
    """Return the first and last position of a resume feed, if `end` is the master's last position.

    The cursor itself is included: another part of that position may have arrived by another route. The feed
    is empty if the first position is above the last one.
    """
    return resume_source.pinned_range(since, end + 1, lambda last: 1)


@remembered
def remaining_range(first: int, last: int, done: int) -> tuple[int, int] | None:
    """Return the rest of a resume feed after its first positions are `done`, or `None` if it is empty."""
    if first > last:
        return None
    has_all_up_to = pull.acknowledged_up_to(members(between(first, last) & ~done), last + 1)
    first = resume_pins.rest_of_pin(first, last, has_all_up_to)
    return (first, last) if first <= last else None


@remembered
def is_covered(position: int, end: int, has_resumed: bool, is_current: bool) -> bool:
    """Return whether a position of the ordinary feed reaches the client by the resume feed instead."""
    return is_current and has_resumed and aside.is_resumed(position, end)


@remembered
def held_after_resume(held: int, end: int) -> int:
    """Return the positions that a node still holds once a resume feed covers those up to `end`."""
    return ResumingFeed(held).positions_left(end)


@remembered
def deliverable(resumed: int, held: int, is_complete: bool) -> int:
    """Return the positions of a master that may be delivered.

    The ordinary feed waits until the resume feed is complete, so the order holds.
    """
    return ResumingFeed(held).positions_sent(resumed, is_complete)


@remembered
def settled_position(received: int, held: int) -> int:
    """Return the last position that a node may settle with a master."""
    return min(received, upstream.settled_position(received, lowest(held) if held else None))


@remembered
def slave_position(received: int, unacknowledged: int) -> int:
    """Return the position from which a slave resumes when its route changes.

    Messages that its clients have not acknowledged are in its memory alone, so they are included.
    """
    return upstream.settled_position(received, lowest(unacknowledged) if unacknowledged else None) + 1


# --- releasing ----------------------------------------------------------------------------------------------


@remembered
def confirmed_masters(masters: int, unconfirmed: int) -> int:
    """Return the masters for which a former node may be released, if `unconfirmed` have not accepted it."""
    confirmed, _ = resuming.confirmed_masters({*members(masters)}, {*members(unconfirmed)}, False)
    return sum(map(bit, confirmed))


@remembered
def is_closed(released: int, masters: int) -> bool:
    """Return whether a former node closes the session: it is released for all masters."""
    return visit.is_released({*members(masters)}, {*members(released)}, is_last=True)


# --- sequence numbers and queues ----------------------------------------------------------------------------


@remembered
def is_accepted(number: int, accepted: int) -> bool:
    """Return whether a master accepts a number after the numbers `accepted`."""
    return product.accepts_number(number, accepted)


@remembered
def number_verdict(number: int, received: int) -> Verdict:
    """Return the verdict of a subscriber about a number, after the numbers `received`."""
    is_new, is_late = product.read_message(number, received)
    return Verdict.LATE if is_late else Verdict.NEW if is_new else Verdict.REPEAT


@remembered
def unanswered(numbers: int, sent: int, final: int, warned: int) -> int:
    """Return the numbers that a publisher sends on this connection.

    A number in `warned` was stored by an earlier node. It has no final answer, so it is sent again.
    """
    return product.resent(numbers, final, warned) & ~sent


@remembered
def is_claimable(is_delivered: bool, owner: int) -> bool:
    """Return whether HOLD gets a message: it is delivered, and `owner` is an attach number of the session."""
    return product.grants_claim(is_delivered, owner > 0)


@remembered
def keeps_delivery(is_marked: bool, owner: int) -> bool:
    """Return whether a restarted part awaits the consumer of a delivery, instead of requeuing the message."""
    return is_marked and owner > 0


@remembered
def is_redelivered(was_redelivered: bool, was_marked: bool) -> bool:
    """Return whether a message that returns to its queue is marked as redelivered."""
    return product.marks_return(was_redelivered, was_marked)
