"""A client's session at this node: its connection may come and go, the session stays."""

from __future__ import annotations

from mesh.core.desk.conn import Conn
from mesh.core.desk.outlet import Keyed, Outlet
from mesh.names import SessionName
from mesh.routing.feed import Feed
from mesh.wire.commands import Answer, Ended
from mesh.wire.envelope import RESENT, Envelope


def subscription_of(feed: Keyed) -> int:
    """The client's own number of a subscription stands at the end of its feed's key; an inbox is 0."""
    return int.from_bytes(feed.key[-4:]) if feed.key[:1] == b"c" else 0


def inbox_key(name: str) -> bytes:
    return b"i" + name.encode()


def feed_key(stream: bytes, subscription: int) -> bytes:
    return b"c" + stream + subscription.to_bytes(4)


INBOX = 0  # the number that every session's inbox has among its subscriptions,
REPLIES = 2**32 - 1  # and the feed of replies to its requests


class Session:
    """A session. `stream` identifies the publisher in all its streams."""

    def __init__(self, name: SessionName, stream: bytes, outlet: Outlet) -> None:
        self.name = name
        self.text = str(name)
        self.stream = stream
        self.outlet = outlet
        self.conn: Conn | None = None
        self.user: str | None = None  # the key by which it came in; None: not since the node was started
        self.is_named = False  # somebody chose the client's name
        self.has_spoken = False  # it knows that it is in
        self.feeds: dict[int, Feed] = {}
        self.ended: dict[int, Ended] = {}  # subscriptions that are over, until it says that it knows
        self.answers: list[Answer] = []
        self.sent: dict[str, int] = {}  # by domain: the last number that its connection has brought,
        self.sent_before: dict[str, int] = {}  # and the highest that earlier ones have
        self.says_again = True  # its client marks what it has sent to another node or process before
        self.gone_since = 0.0

    def connected(self, conn: Conn, says_again: bool) -> None:
        """It has a connection, which may bring again what earlier ones have brought."""
        self.conn = conn
        for domain, last in self.sent.items():
            self.sent_before[domain] = max(last, self.sent_before.get(domain, 0))
        self.sent.clear()
        self.says_again &= says_again

    def is_again(self, e: Envelope) -> bool:
        """May it have gone on before, here or elsewhere, so that its master has it, answered or not?"""
        return not self.says_again or e.flags & RESENT > 0 or e.first <= self.sent_before.get(e.domain, 0)


def merged(answers: list[Answer]) -> list[Answer]:
    """Neighbouring answers of one kind as one."""
    result: list[Answer] = []
    for a in answers:
        last = result[-1] if result else None
        alike = last and (last.domain, last.state, last.matched, last.text) == (
            a.domain,
            a.state,
            a.matched,
            a.text,
        )
        if last and alike and a.first == last.last + 1:
            result[-1] = Answer(a.domain, last.first, a.last, a.state, a.matched, a.text)
        else:
            result.append(a)
    return result
