"""The session of a client at its node, which outlives its connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mesh.kernel.context.conn import Conn
from mesh.kernel.context.node_output import NodeOutput
from mesh.kernel.context.outlet import Keyed, Outlet
from mesh.names import SessionName
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.wire.commands import Answer, Ended
from mesh.wire.envelope import RESENT, Envelope


def subscription_of(feed: Keyed) -> int:
    """Return the subscription number at the end of a feed's key; 0 for an inbox."""
    return int.from_bytes(feed.key[-4:]) if feed.key[:1] == b"c" else 0


def inbox_key(name: str) -> bytes:
    return b"i" + name.encode()


def feed_key(stream: bytes, subscription: int) -> bytes:
    return b"c" + stream + subscription.to_bytes(4)


INBOX = 0  # subscription number of the inbox
REPLIES = 2**32 - 1  # subscription number of replies
UNKNOWN = 0  # number of messages that a node dropped with its process


class Session:
    """A client's session, which outlives its connections.

    `stream` is the id of the session as a publisher, in all domains.
    """

    def __init__(self, name: SessionName, stream: bytes, outlet: Outlet) -> None:
        self.name = name
        self.text = str(name)
        self.stream = stream
        self.outlet = outlet
        self.conn: Conn | None = None
        self.user: str | None = None  # key of its connection; None = none since the start
        self.is_named = False  # the client's name was chosen by its user
        self.is_operator = False  # a command for this node, which must not move to another one
        self.is_moving = False  # it leaves this node, and may already be at another one
        self.has_spoken = False  # it has sent a command
        self.feeds: dict[int, Feed] = {}
        self.ended: dict[int, Ended] = {}  # ended subscriptions, until it confirms
        self.answers: list[Answer] = []
        self.sent: dict[str, int] = {}  # by domain: last number on this connection
        self.sent_before: dict[str, int] = {}  # by domain: highest on earlier connections
        self.says_again = True  # its client marks resent messages
        self.gone_since = 0.0
        self.left_to = b""  # the first node that released it here, and
        self.left_gaps: list[tuple[int, int]] = []  # the messages that this node dropped then

    def attach(self, conn: Conn, says_again: bool) -> None:
        """Attach a connection, on which the client may resend messages of earlier connections.

        `says_again` means that the client marks resent messages, or has none.
        """
        self.conn = conn
        self.is_moving = False
        for domain, last in self.sent.items():
            self.sent_before[domain] = max(last, self.sent_before.get(domain, 0))
        self.sent.clear()
        self.says_again &= says_again

    def push_slice(self, out: NodeOutput, feed: Feed, slice_: EnvelopeSlice) -> None:
        out.push_slice(self.outlet, feed, slice_)

    def drop_slices(self, feed: Feed) -> None:
        self.outlet.drop_slices(feed)

    def leave_to(self, node: bytes, received: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return the numbers of its subscriptions, each with the messages that this node drops: once.

        The first node that asks gets the same answer again. `received` has the items that the client received
        since the last start of this process.
        """
        if not self.left_to:
            self.outlet.restart()  # gaps in flight are reported by that node
            self.left_to, self.left_gaps = node, self._left_behind(received)
        return self.left_gaps if node == self.left_to else []

    def _left_behind(self, received: Mapping[int, int]) -> list[tuple[int, int]]:
        feeds = [(number, feed) for number, feed in self.feeds.items() if feed.queries]
        if self.user is None:  # restored at the start, and not connected since
            return [(number, UNKNOWN) for number, _ in feeds]
        counts = ((number, feed.left_behind(received.get(number, 0))) for number, feed in feeds)
        unknown = [(number, UNKNOWN) for number, feed in feeds if feed.has_unknown_gap]
        return [*unknown, *((number, count) for number, count in counts if count)]

    def report_gaps(self, gaps: Iterable[tuple[int, int]]) -> None:
        """Report messages that another node dropped, by subscription; their number may be UNKNOWN."""
        for number, count in gaps:
            feed = self.feeds.get(number)
            if feed is None or not feed.queries:
                continue
            if count == UNKNOWN:
                feed.miss_unknown()
            else:
                feed.missed(count)

    def is_again(self, e: Envelope) -> bool:
        """Return whether an envelope may have been forwarded before, so that its master may have it."""
        return not self.says_again or e.flags & RESENT > 0 or e.first <= self.sent_before.get(e.domain, 0)


def merged(answers: list[Answer]) -> list[Answer]:
    """Return the answers, with adjacent equal answers on consecutive numbers joined into one."""
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
