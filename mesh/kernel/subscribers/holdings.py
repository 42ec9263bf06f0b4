"""The account of the bytes in memory that this node holds for others, and the limit for sessions.

A session holds messages that wait for it, or that it has not read or settled, and its own requests without a
reply.
"""

# Law 1: after each count, once a second, all sessions together hold at most `limits.sessions_bytes`. The
#        largest ones are disconnected until the others fit: a session that holds little is never affected.
# Law 2: a body in memory counts once, however many sessions hold it.
# Law 3: everything else in the account (inboxes, queues, retained values, buffers for masters, peers and
#        sites) has its own limit, and refuses messages beyond it: no kind uses the space of another.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from mesh.excess import largest
from mesh.kernel.context.component import Component, Share
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import INBOX, Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.routing.feed import Feed
from mesh.routing.memory import OWN

SHARED = 256  # bytes, roughly, of a further holder of an envelope


class Holdings(Component):
    """Component with the memory account.

    `cut_off(session, bytes)` is called for each session that uses too much memory.
    """

    def __init__(
        self, context: NodeContext, sessions: Sessions, cut_off: Callable[[Session, int], None]
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._cut_off = cut_off
        self._bytes = 0  # at the last count

    def figures(self) -> dict[str, int | float]:
        return {"held_bytes": self._bytes}

    def on_second(self) -> None:
        """Count the bytes, and disconnect the largest sessions if all together hold too much."""
        face, most = self._context.face, self._context.settings.sessions_bytes
        held = face.holds_for_sessions()
        if held > most:  # an upper bound, with repetitions
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
                yield from ((session, stored.envelope.body, stored.size) for stored in feed.all_stored())
            # A session may have settled messages without acknowledging their frames.
            yield session, session.outlet, max(0, session.outlet.unacked_bytes - under_way)


def sizes_of(shares: Iterable[Share]) -> Counter[Session]:
    """Return the bytes by session; shared contents count in full only for the first session that has them."""
    sizes, seen = Counter[Session](), set[int]()
    for session, what, size in shares:
        sizes[session] += SHARED if id(what) in seen else size + OWN
        seen.add(id(what))
    return sizes


def _feeds(session: Session) -> Iterator[Feed]:
    """Yield the feeds of a session except its inbox, which has its own limit."""
    return (feed for number, feed in session.feeds.items() if number != INBOX)
