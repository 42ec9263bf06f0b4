"""Which one of several masters takes a message for durable subscriptions and groups, too?"""

# Law 1: whoever divides a message marks its copies: one is FIRST, the others are SECOND. A master takes for
#        durable subscriptions and groups what is FIRST, and what nobody has divided.
# Law 2: FIRST goes to the first by name of those that can be asked now, else of those that are away.
# Law 3: once it may be on its way it stays there, whatever becomes of rules and nodes. If that master is one
#        no more, and has not said that it took it, durable subscriptions may lack the message: that is told.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mesh.routing.entry import HERE, Entry
from mesh.wire.envelope import SECOND

Takes = Callable[[str], bool | None]  # can that node be asked, and does it know of FIRST? None: it is away


def first_of(masters: Iterable[str], takes: Takes) -> str:
    """The first by name; "": none can have it."""
    known = {name: takes(name) for name in masters}
    able = [name for name, can in known.items() if can] or [
        name for name, can in known.items() if can is None
    ]
    return min(able, default="")


def mark(entry: Entry, masters: Sequence[str], me: str, takes: Takes) -> bool:
    """See to the mark of an entry that is about to go straight to these masters, of which this node may be
    one; (): it goes on by a way. May durable subscriptions lack it?"""
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


def _free(entry: Entry, masters: Sequence[str], me: str) -> Sequence[str]:
    """Those that can still have the mark: who had it without cannot, but who had it alone has taken it."""
    had = [name for name in masters if entry.was_sent and _hop(name, me) in entry.lacking]
    if had and not entry.was_divided:
        return had
    return [name for name in masters if name not in had]


def _hop(name: str, me: str) -> str:
    return HERE if name == me else name
