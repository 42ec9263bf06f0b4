"""The order of a feed while it resumes logs: when newer messages are sent, and which ones are dropped.

A subscription that moved receives each master's log in two parts: the resumed part up to an end, and newer
messages over the ordinary link. The newer ones wait in `Feed.aside` until the resumed part is complete.
"""

# Law 1: of each master, all resumed messages precede the newer ones.
# Law 2: a position up to the end is delivered by the resumed part only.
# Law 3: a transient message that waits precedes the resumed messages that its master accepted after it.

from __future__ import annotations

from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed


def set_aside(feed: Feed, master: bytes) -> None:
    """Let the messages of a master wait, also the ones that wait in the feed already."""
    if feed.aside.get(master) is None:
        feed.aside[master] = feed.take_of(master)


def drop_up_to(feed: Feed, master: bytes, end: int) -> None:
    """Release the waiting messages of a master up to `end`, the last position of the resumed part."""
    feed.floors[master] = max(end, feed.floors.get(master, 0))
    waiting = feed.aside.get(master) or []
    feed.aside[master] = [slice_ for slice_ in waiting if not is_resumed(slice_.stored.position, end)]
    for slice_ in waiting:
        if is_resumed(slice_.stored.position, end):
            feed.release(slice_.stored)


def is_resumed(position: int, end: int) -> bool:
    """Return whether the resumed part, up to `end`, has this position. A transient message has position 0."""
    return 0 < position <= end


def take_older(feed: Feed, master: bytes, position: int) -> list[EnvelopeSlice]:
    """Remove and return the waiting transient messages that a master accepted before a position of its log.

    Those whose place in the log is unknown stay.
    """
    older, others = list[EnvelopeSlice](), list[EnvelopeSlice]()
    for slice_ in feed.aside.get(master) or ():
        is_older = not slice_.is_persistent and 0 < slice_.stored.after < position
        (older if is_older else others).append(slice_)
    if older:
        feed.aside[master] = others
    return sorted(older, key=lambda slice_: slice_.stored.after)


def bring_back(feed: Feed, master: bytes, now: float) -> None:
    """Offer the waiting messages of a master, whose log is resumed. Later ones do not wait."""
    for slice_ in feed.aside.pop(master, None) or ():
        feed.offer_resumed(slice_, now)


def drop_master(feed: Feed, master: bytes) -> None:
    """Release all messages of a master, also later ones: another node delivers them."""
    set_aside(feed, master)
    waiting, feed.aside[master] = feed.aside[master] or [], None
    for slice_ in waiting:
        feed.release(slice_.stored)
