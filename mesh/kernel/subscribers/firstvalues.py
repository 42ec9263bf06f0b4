"""First values of subscriptions: retained values, some of which follow when their masters return."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import islice

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.asking.lookup import Lookup
from mesh.kernel.asking.lookup_result import LookupResult
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.delivery.joining import Joining
from mesh.kernel.peers.facts import RoutesChanged
from mesh.kernel.routes.peer_calls import PeerCalls
from mesh.kernel.subscribers.session import Session
from mesh.routing.feed import Feed
from mesh.wire.commands import Query

TURN = 32  # subscriptions in one tick; each asks other nodes


class FirstValues(Component):
    """Component that fetches first values for new subscriptions.

    `joining` combines the values with newer messages.
    """

    def __init__(
        self,
        context: NodeContext,
        joining: Joining,
        demand: InterestSync,
        questions: PeerCalls,
        lookup: Lookup,
    ) -> None:
        self._context = context
        self._joining = joining
        self._demand = demand
        self._questions = questions
        self._lookup = lookup
        # Feeds that lack values because their masters are unreachable, by row of the rules.
        self._lacking: dict[Hashable, dict[Feed, tuple[Session, Query]]] = {}
        self._ready: dict[Feed, tuple[Session, Query]] = {}  # feeds that can get their values now
        self._is_spent = False  # the budget of this tick is used
        # Feeds whose values are being fetched: when to call the functions at the latest, and these.
        self._promised: dict[Feed, tuple[float, list[Callable[[], None]]]] = {}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(RoutesChanged, lambda _: self.fetch_missing()),)

    def expects(self, feed: Feed) -> None:
        """Register a new subscription that gets first values soon. With a history, it is held until then."""
        feed.is_held = feed.history > 1
        self._joining.expects(feed)

    def deliver_values(
        self, session: Session, feed: Feed, query: Query, done: Callable[[], None] = lambda: None
    ) -> None:
        """Deliver the retained values that match a subscription, and then call `done`.

        If many values take longer than CONFIRM to arrive, `done` is called before. Values of unreachable
        masters follow when the masters return (see `fetch_missing`).
        """
        if feed in self._promised:  # its client has reconnected, and subscribed again
            self._promised[feed][1].append(done)
            return
        due = self._context.clock.now + CONFIRM
        self._promised[feed] = due, [done]
        self._context.clock.wake(due)

        def deliver(found: LookupResult) -> None:
            values = [(value.master, value.envelope) for value in found.values]
            lacks = bool(found.away) and not feed.closed
            self._joining.initial(feed, values, self._context.clock.now, lacks)
            session.outlet.flush(self._context.out.raw)
            if lacks:
                self._lacking.setdefault(self._demand.row(query), {})[feed] = (session, query)
            self._call_promised(feed)

        self._joining.begins(feed)
        self._lookup.look_up(query, deliver, after=True, most=feed.history)

    def fetch_missing(self) -> None:
        """Fetch missing values whose masters can be reached now."""
        for row, lacking in list(self._lacking.items()):
            if self._demand.is_reachable(next(iter(lacking.values()))[1]):
                self._ready |= self._lacking.pop(row)
        self._fetch_values()

    def _fetch_values(self) -> None:
        ready = [] if self._is_spent else list(islice(self._ready.items(), TURN))
        for feed, (session, query) in ready:
            self._is_spent = True
            del self._ready[feed]
            self._demand.catch_up(query)  # newer messages must be requested before the values
            self._questions.call_when_confirmed(
                self._demand.unconfirmed(),
                lambda s=session, f=feed, q=query: self.deliver_values(s, f, q),  # type: ignore[misc]
            )
        if self._ready:
            self._context.clock.wake(self._context.clock.now)

    def tick(self) -> None:
        self._is_spent = False
        now = self._context.clock.now
        for feed in [feed for feed, (due, _) in self._promised.items() if due <= now]:
            self._call_promised(feed)
            feed.release_held()
        if self._ready:
            self._fetch_values()

    def _call_promised(self, feed: Feed) -> None:
        _, functions = self._promised.pop(feed, (0.0, []))
        for function in functions:
            function()

    def lacks_nothing(self, feed: Feed, query: Query) -> None:
        """Stop fetching missing values for a feed that ended."""
        self._joining.lacks_nothing(feed)
        self._ready.pop(feed, None)
        row = self._demand.row(query) if self._lacking else None
        if row in self._lacking:
            self._lacking[row].pop(feed, None)
            if not self._lacking[row]:
                del self._lacking[row]
