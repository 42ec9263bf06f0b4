"""One account of the bytes in memory that this node holds for others, and the bound on those of sessions.

A session holds messages that it was given, or that wait for it, and that it has not taken or settled, and its
own requests that wait for their replies.
"""

# Law 1: after each look, once a second, all sessions together hold at most `limits.sessions_bytes`. Sessions
#        with most are cut off, until the others fit: nobody who holds little is cut off or refused.
# Law 2: a body in memory counts once, however many sessions hold it.
# Law 3: everything else in the account (inboxes, queues, last values, what waits for masters, peers and
#        sites) has a bound of its own, and refuses what is beyond it: no kind takes the room of another.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from mesh.core.desk.desk import Desk
from mesh.core.desk.part import Part, Share
from mesh.core.subscribers.session import INBOX, Session
from mesh.core.subscribers.sessions import Sessions
from mesh.excess import largest
from mesh.routing.feed import Feed
from mesh.routing.memory import OWN

SHARED = 256  # bytes that one more holder of an envelope costs, about


class Holdings(Part):
    """The account. `cut_off` is called with a session that holds too much, and the bytes that it holds."""

    def __init__(self, desk: Desk, sessions: Sessions, cut_off: Callable[[Session, int], None]) -> None:
        self._desk = desk
        self._sessions = sessions
        self._cut_off = cut_off
        self._bytes = 0  # at the last look

    def figures(self) -> dict[str, int | float]:
        return {"held_bytes": self._bytes}

    def tidy(self) -> None:
        """Take stock, and cut off the sessions with most if all of them hold too much."""
        face, most = self._desk.face, self._desk.settings.sessions_bytes
        held = face.holds_for_sessions()
        if held > most:  # or less, as some of it was counted more than once
            sizes = sizes_of(face.shares())
            held = sizes.total()
            for session in list(largest(sizes.items(), held - most)):
                self._cut_off(session, sizes[session])
                held -= sizes[session]
        self._bytes = held + face.holds()

    def holds_for_sessions(self) -> int:
        return sum(
            session.outlet.unacked_bytes
            + sum(feed.waiting_bytes + OWN * feed.items for feed in _feeds(session))
            for session in self._sessions.by_stream.values()
            if session.feeds
        )

    def shares(self) -> Iterator[Share]:
        for session in self._sessions.by_stream.values():
            under_way = 0
            for feed in _feeds(session):
                under_way += feed.under_way_bytes
                yield from ((session, parcel.envelope.body, parcel.size) for parcel in feed.parcels())
            # A session may say that it has taken messages, and not that it has the frames in which they came.
            yield session, session.outlet, max(0, session.outlet.unacked_bytes - under_way)


def sizes_of(shares: Iterable[Share]) -> Counter[Session]:
    """Return the bytes by session. What several have counts for the first of them."""
    sizes, seen = Counter[Session](), set[int]()
    for session, what, size in shares:
        sizes[session] += SHARED if id(what) in seen else size + OWN
        seen.add(id(what))
    return sizes


def _feeds(session: Session) -> Iterator[Feed]:
    """The feeds of a session but its inbox, which has a bound of its own."""
    return (feed for number, feed in session.feeds.items() if number != INBOX)
