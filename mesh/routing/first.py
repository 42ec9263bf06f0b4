"""Choice of the one master that accepts a message for durable subscriptions and groups."""

# Law 1: the node that divides a message marks its copies: one is FIRST, the others are SECOND. A master
# accepts FIRST copies and undivided messages for durable subscriptions and groups.
# Law 2: FIRST goes to the first master by name among those that are reachable, else among those that are not.
# Law 3: once the FIRST copy may have been sent, its master stays FIRST whatever happens to rules and nodes.
# If that node is no longer a master and has not confirmed, durable subscriptions may lack the message. That
# is reported.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mesh.routing.pending_forward import HERE, PendingForward
from mesh.wire.envelope import SECOND

Takes = Callable[[str], bool | None]  # whether a node supports FIRST; None: unreachable


def first_of(masters: Iterable[str], takes: Takes) -> str:
    """Return the first reachable master by name that supports FIRST.

    If there is none, return the first unreachable master, or "".
    """
    known = {name: takes(name) for name in masters}
    able = [name for name, can in known.items() if can] or [
        name for name, can in known.items() if can is None
    ]
    return min(able, default="")


def mark(entry: PendingForward, masters: Sequence[str], me: str, takes: Takes) -> bool:
    """Choose the FIRST master of an entry that is about to be sent directly to `masters`.

    `masters` may include this node, and is empty if the entry is sent to a next hop. If no master can be
    FIRST any longer, the envelope is marked as SECOND. Return whether durable subscriptions may lack the
    message.
    """
    if entry.first in masters:
        return False
    if not entry.first and (len(masters) < 2 or entry.envelope.flags & SECOND):
        return False
    was, entry.first = entry.first, ""
    if was and entry.first_was_sent:
        is_lacking = bool(entry.lacking.get(_hop(was, me)))
    elif not masters:
        return False
    else:
        entry.first = first_of(_free(entry, masters, me), takes)
        is_lacking = not entry.first
    if not entry.first:
        entry.envelope = entry.envelope.marked(SECOND)
    return is_lacking


def _free(entry: PendingForward, masters: Sequence[str], me: str) -> Sequence[str]:
    """Return the masters that can still become FIRST.

    A master that was sent the undivided entry already accepts it for durable subscriptions. A master that was
    sent a divided entry without the mark never does.
    """
    had = [name for name in masters if entry.was_sent and _hop(name, me) in entry.lacking]
    if had and not entry.was_divided:
        return had
    return [name for name in masters if name not in had]


def _hop(name: str, me: str) -> str:
    return HERE if name == me else name
