"""The limits of subscriptions: for one session, for a node, and for the cost of XPaths for each message."""

from __future__ import annotations

from mesh.errors import LocalError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.session import Session
from mesh.kernel.subscribers.sessions import Sessions
from mesh.mapping.cost import MOST_TOGETHER, THAT_LOOK_AT_LESS, too_many_visits
from mesh.routing.feed import Feed
from mesh.routing.querytrie import visits_together
from mesh.routing.subscriptions import SubscriptionIndex
from mesh.wire.commands import Query
from mesh.wire.limits import XPATH

# Law: no client can use more than half of the visits that all XPaths together may cost for a message.
# Sessions with one key are one client, and so are sessions without a key that have one client name.

MOST_OF_ONE = MOST_TOGETHER // 2  # visits of one client's XPaths


class SubscriptionLimits:
    """The limits that no new subscription of a client may exceed.

    `clients` are the subscriptions of the node's clients. The caller keeps their number, `count`, up to date.
    """

    def __init__(self, context: NodeContext, clients: SubscriptionIndex[Feed], sessions: Sessions) -> None:
        self._context = context
        self._clients = clients
        self._sessions = sessions
        self.count = 0

    def check_room(self, session: Session, query: Query) -> None:
        """Check that a session may have one more subscription. Raises: LocalError (TOO_MANY)."""
        settings, hint = self._context.settings, "Subscribe to patterns, each of which covers many keys"
        most, count = settings.max_subscriptions, len(session.feeds)
        if count >= most:
            raise LocalError(
                f"The number of subscriptions of {session.name} is {count:,}; the limit is {most:,}.",
                hint=f"{hint}, or raise `limits.session_subscriptions` of the node.",
                code="TOO_MANY",
            )
        most = settings.max_all_subscriptions
        if self.count >= most:
            what = f"The number of subscriptions of all clients of {self._context.me.name} is {self.count:,}"
            raise LocalError(
                f"{what}; the limit is {most:,}.",
                hint=f"{hint}, or raise `limits.subscriptions` of the node.",
                code="TOO_MANY",
            )
        if query.kind == XPATH:
            self._check_xpaths(session, query)

    def _check_xpaths(self, session: Session, query: Query) -> None:
        """Check that the XPaths of the session, and those of all clients, are cheap enough for each message.

        Raises: LocalError (TOO_MANY).
        """
        feeds = (feed for each in self._sessions.of_same_client(session) for feed in each.feeds.values())
        texts = {q.text for feed in feeds for q in feed.queries if q.kind == XPATH}
        visits = visits_together(texts | {query.text})
        whose, most = f"The XPath subscriptions of {session.name}", MOST_OF_ONE
        if visits <= most:
            visits, most = self._clients.visits_with(query), MOST_TOGETHER
            whose = "The XPath subscriptions of all clients of this node"
        if visits > most:
            hint = f"Use fewer of them, or {THAT_LOOK_AT_LESS}"
            raise LocalError(too_many_visits(whose, visits, most), hint=hint, code="TOO_MANY")
