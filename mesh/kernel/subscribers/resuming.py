"""The visited node's side of a move: resumes the subscriptions of a session from the logs of all masters."""

# Law 1: every master that may owe the session something is asked, now or when it logs in. This node is not
#        asked while its own log is empty and has no pins.
# Law 2: a master is confirmed when it has pinned its log for all subscriptions of the session.

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TypeVar

from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, PeerForgotten
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.facts import ResumeChanged, ResumeEnded, SessionBehind
from mesh.kernel.subscribers.master_logs import MasterLogs
from mesh.kernel.subscribers.pulls import Pulls
from mesh.kernel.subscribers.session import Session, subscription_of
from mesh.routing.feed import Feed
from mesh.routing.merging import Merging
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.commands import Certificate, Query
from mesh.wire.limits import VISITS

PATIENCE = 4.0  # s that a subscription waits for masters before its first values
MASTERS = 4096  # masters of one subscription
T = TypeVar("T")


@dataclass(slots=True)
class Arrival:
    """A session that came from other nodes, and the subscriptions that its client has not repeated yet."""

    head: AskResume  # of each question about a subscription
    expected: set[int]
    asked: dict[int, set[bytes]] = field(default_factory=dict)  # masters by subscription

    @property
    def masters(self) -> set[bytes]:
        return set().union(*self.asked.values())


class Resuming(Component):
    """Component that resumes the subscriptions of visiting sessions.

    `resumed` maps the sources of resumed envelopes to their handlers. The fact ResumeChanged is published
    when less of a session is left to confirm.
    """

    def __init__(
        self,
        context: NodeContext,
        demand: InterestSync,
        logs: MasterLogs,
        merging: Merging,
        resumed: dict[bytes, Callable[[StoredEnvelope], None]],
    ) -> None:
        self._context = context
        self._demand = demand
        self._logs = logs
        self._merging = merging
        check, add = self._check_waiting, self._add_masters
        self._pulls = Pulls(context, logs, resumed, demand.is_requested, check, add)
        self._arrivals: dict[bytes, Arrival] = {}  # by stream
        self._waiting: dict[Feed, tuple[float, Callable[[], None]]] = {}  # deadline, in order; what follows

    def features(self) -> Sequence[str]:
        return (VISITS,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._pulls.on_login(fact.peer.node.uuid)),
            on_fact(PeerForgotten, lambda fact: self._pulls.on_forgotten(fact.peer.node.uuid)),
            on_fact(SessionBehind, lambda fact: self._mark(fact.peer)),
        )

    def figures(self) -> dict[str, int | float]:
        return {"resuming": len(self._pulls)}

    def requires_login(self, peer: Peer) -> bool:
        return self._pulls.has_master(peer.node.uuid)

    def _mark(self, peer: Peer) -> None:
        """Let the peer receive what this node has handed on before the session came there."""
        peer.exchange.feed.arrival = self._merging.mark_arrival()

    # --- subscriptions ----------------------------------------------------------------------------------

    def arrive(
        self, stream: bytes, certificate: Certificate, former: Iterable[bytes], expected: Iterable[int]
    ) -> None:
        """Resume the subscriptions `expected` of a session when its client repeats them."""
        subscriptions = tuple(sorted(expected))
        head = AskResume(certificate=certificate, former=list(former), subscriptions=subscriptions or None)
        self._arrivals[stream] = Arrival(head, set(subscriptions))

    def leave(self, stream: bytes) -> None:
        """Stop resuming the subscriptions of a session, which left or is complete."""
        self._arrivals.pop(stream, None)

    def prepare(
        self, session: Session, feed: Feed, query: Query, since: Mapping[bytes, int], was_here: bool
    ) -> bool:
        """Let a subscription that is to be resumed wait for its logs; return False if it begins here.

        `since` has the client's position in each log. `was_here` means that this node is a former one, too.
        """
        arrival = self._arrivals.get(session.stream)
        number = subscription_of(feed)
        if arrival is None or number not in arrival.expected:
            return False
        if was_here and self._context.me.uuid not in arrival.head.former:
            arrival.head.former.append(self._context.me.uuid)
        feed.arrival = self._merging.mark_arrival()
        self._drop_pulls(feed)
        targets = self._demand.possible_masters(query)
        first = (self._context.me.uuid, *since, *arrival.head.former, *sorted(targets))
        masters = list(dict.fromkeys(first))[:MASTERS]
        for master in [master for master, kept in feed.aside.items() if kept is None]:
            del feed.aside[master]  # another node had released this one
        for master in filter(self._logs.must_ask, masters):
            row = ResumeRow(number, query, since.get(master, 0))
            self._pulls.add_pull(session, feed, master, arrival.head, row)
        arrival.asked[number] = set(masters)
        return True

    def add_masters(self, session: Session, masters: Collection[bytes]) -> None:
        """Resume the subscriptions of a session from further masters, which a former node has named."""
        for feed in [feed for feed in session.feeds.values() if feed.queries]:
            self._add_masters(session, feed, masters)

    def _add_masters(self, session: Session, feed: Feed, masters: Collection[bytes]) -> None:
        arrival, number = self._arrivals.get(session.stream), subscription_of(feed)
        if arrival is None:
            return
        asked = arrival.asked.setdefault(number, set())
        found = [master for master in dict.fromkeys(masters) if master not in asked]
        for master in found[: MASTERS - len(asked)]:
            asked.add(master)
            row = ResumeRow(number, next(iter(feed.queries)))
            self._pulls.start_pull(self._pulls.add_pull(session, feed, master, arrival.head, row))

    def masters_of(self, session: Session) -> set[bytes]:
        """Return the masters from which the subscriptions of a session may get messages."""
        found = set[bytes]()
        for feed in session.feeds.values():
            if feed.queries:  # neither replies nor an inbox
                found |= {self._context.me.uuid, *feed.masters()}
            for query in feed.queries:
                found |= self._demand.possible_masters(query)
        return found

    def start_resume(self, session: Session, feed: Feed, then: Callable[[], None]) -> None:
        """Ask all masters for the log of a prepared subscription, whose query they have confirmed.

        `then` is called when all reachable masters have sent their logs, after PATIENCE s at the latest.
        """
        due = self._context.clock.now + PATIENCE
        self._waiting[feed] = due, then
        self._context.clock.wake(due)
        for pull in self._pulls.of_feed(feed):
            self._pulls.start_pull(pull)
        if (arrival := self._arrivals.get(session.stream)) is not None:
            arrival.expected.discard(subscription_of(feed))
            self._context.facts.publish_fact(ResumeChanged(session))
        self._check_waiting(feed)

    def end(self, session: Session, feed: Feed) -> None:
        """Stop resuming a subscription that ended."""
        if masters := self._drop_pulls(feed):
            self._context.facts.publish_fact(ResumeEnded(session, tuple(masters)))
        if (arrival := self._arrivals.get(session.stream)) is not None:
            arrival.expected.discard(subscription_of(feed))
            self._context.facts.publish_fact(ResumeChanged(session))

    def _drop_pulls(self, feed: Feed) -> list[bytes]:
        self._waiting.pop(feed, None)
        return self._pulls.drop_feed(feed)

    def expected(self, stream: bytes) -> Set[int]:
        """Return the subscriptions of a session that its client has not repeated yet."""
        arrival = self._arrivals.get(stream)
        return arrival.expected if arrival is not None else frozenset()

    def has_arrived(self, stream: bytes) -> bool:
        """Return whether the client of a session has repeated all its subscriptions."""
        return not self.expected(stream)

    def confirmed(self, stream: bytes) -> tuple[set[bytes], bool]:
        """Return the masters that have pinned their logs for a session, and whether these are all."""
        arrival = self._arrivals.get(stream)
        if arrival is None:
            return set(), True
        return confirmed_masters(arrival.masters, self._pulls.unconfirmed(stream), bool(arrival.expected))

    # --- time -------------------------------------------------------------------------------------------

    def _check_waiting(self, feed: Feed) -> None:
        """Run the waiting calls of a subscription once all reachable masters have sent their logs."""
        if feed in self._waiting and self._pulls.has_all_pages(feed):
            self._waiting.pop(feed)[1]()

    def tick(self) -> None:
        now = self._context.clock.now
        for feed in [*takewhile(lambda feed: self._waiting[feed][0] <= now, self._waiting)]:
            self._waiting.pop(feed)[1]()
        self._pulls.tick()


def confirmed_masters(masters: Set[T], unconfirmed: Set[T], is_expecting: bool) -> tuple[set[T], bool]:
    """Return the masters that have pinned their logs for a session, and whether these are all.

    While the client `is_expecting` to repeat subscriptions, none has pinned its log for all of them.
    """
    return (set(), False) if is_expecting else ({*masters} - unconfirmed, not unconfirmed)
