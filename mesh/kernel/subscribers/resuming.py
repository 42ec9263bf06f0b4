"""The visited node's side of a move: resumes the subscriptions of a session from the logs of all masters."""

# Law 1: every master that may owe the session something is asked, now or when it logs in.
# Law 2: a master is confirmed when it has pinned its log for all subscriptions of the session.
# Law 3: what the client has acknowledged of a resumed log is released at the master; the rest stays there.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from mesh.errors import LocalError, RemoteError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn, PeerForgotten
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.facts import ResumeChanged
from mesh.kernel.subscribers.master_logs import Answer, MasterLogs, OnPage
from mesh.kernel.subscribers.pull import Pull, check_page
from mesh.kernel.subscribers.session import Session, subscription_of
from mesh.routing.aside import bring_back, drop_up_to, set_aside
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskResume
from mesh.wire.commands import Certificate, Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MIB, VISITS
from mesh.wire.replies import Resumed

AGAIN = 1.0  # s until a failed question is repeated
PATIENCE = 4.0  # s that a subscription waits for masters before its first values
AHEAD = 4 * MIB  # bytes that may wait for the client before the next page
MASTERS = 4096  # masters of one subscription


@dataclass(slots=True)
class Arrival:
    """A session that came from other nodes, and the subscriptions that its client has not repeated yet."""

    certificate: Certificate
    former: list[bytes]
    expected: set[int]
    masters: set[bytes] = field(default_factory=set)  # of all its subscriptions


class Resuming(Component):
    """Component that resumes the subscriptions of visiting sessions.

    `resumed` maps the sources of resumed envelopes to their handlers. The fact ResumeChanged is published
    when a master confirms, or when less of a session is left to confirm.
    """

    def __init__(
        self,
        context: NodeContext,
        demand: InterestSync,
        logs: MasterLogs,
        resumed: dict[bytes, Callable[[StoredEnvelope], None]],
    ) -> None:
        self._resumed = resumed
        self._arrivals: dict[bytes, Arrival] = {}  # by stream
        self._context = context
        self._demand = demand
        self._logs = logs
        self._pulls: dict[bytes, Pull] = {}  # by id
        self._unconfirmed: dict[bytes, Counter[bytes]] = {}  # by stream: masters, with their open pulls
        self._per_master = Counter[bytes]()  # pulls
        self._again: dict[Pull, None] = {}  # to be asked again later
        self._of_feed: dict[Feed, dict[bytes, Pull]] = {}  # by master
        self._waiting: dict[Feed, tuple[float, Callable[[], None]]] = {}  # deadline, and what follows
        self._count = 0

    def features(self) -> Sequence[str]:
        return (VISITS,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(LoggedIn, lambda fact: self._on_login(fact.peer)),
            on_fact(PeerForgotten, lambda fact: self._on_forgotten(fact.peer.node.uuid)),
        )

    def figures(self) -> dict[str, int | float]:
        return {"resuming": len(self._pulls)}

    def requires_login(self, peer: Peer) -> bool:
        return peer.node.uuid in self._per_master

    # --- subscriptions ----------------------------------------------------------------------------------

    def arrive(
        self, stream: bytes, certificate: Certificate, former: Iterable[bytes], expected: Iterable[int]
    ) -> None:
        """Resume the subscriptions `expected` of a session when its client repeats them."""
        self._arrivals[stream] = Arrival(certificate, list(former), set(expected))

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
        if was_here and self._context.me.uuid not in arrival.former:
            arrival.former.append(self._context.me.uuid)
        self._drop_pulls(feed)
        targets = self._demand.possible_masters(query)
        first = (self._context.me.uuid, *since, *arrival.former, *sorted(targets))
        masters = list(dict.fromkeys(first))[:MASTERS]
        for master in [master for master, kept in feed.aside.items() if kept is None]:
            del feed.aside[master]  # another node had released this one
        pulls = self._of_feed[feed] = {}
        for master in masters:
            pulls[master] = self._add_pull(session, feed, arrival, query, master, since.get(master, 0))
        return True

    def _add_pull(
        self, session: Session, feed: Feed, arrival: Arrival, query: Query, master: bytes, at: int
    ) -> Pull:
        ask = AskResume(
            certificate=arrival.certificate,
            subscription=subscription_of(feed),
            query=query,
            at=at,
            former=arrival.former,
        )
        self._count += 1
        pull = Pull(session, feed, master, ask, b"resume" + self._count.to_bytes(8))
        self._pulls[pull.id] = pull
        self._resumed[pull.id] = partial(self._on_released, pull)
        self._per_master[master] += 1
        self._unconfirmed.setdefault(session.stream, Counter())[master] += 1
        set_aside(feed, master)
        arrival.masters.add(master)
        return pull

    def add_masters(self, session: Session, masters: Iterable[bytes]) -> None:
        """Resume the subscriptions of a session from further masters, which a former node has named."""
        arrival = self._arrivals.get(session.stream)
        for feed in list(session.feeds.values()) if arrival is not None else ():
            for master in masters:
                pulls = self._of_feed.setdefault(feed, {})
                if feed.queries and master not in pulls and arrival is not None:
                    query = next(iter(feed.queries))
                    pull = pulls[master] = self._add_pull(session, feed, arrival, query, master, 0)
                    pull.is_started = True
                    self._ask(pull)

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
        for pull in list(self._of_feed.get(feed, {}).values()):
            pull.is_started = True
            self._ask(pull)
        if (arrival := self._arrivals.get(session.stream)) is not None:
            arrival.expected.discard(subscription_of(feed))
            self._context.facts.publish_fact(ResumeChanged(session))
        self._check_waiting(feed)

    def end(self, session: Session, feed: Feed) -> None:
        """Stop resuming a subscription that ended, and release what masters keep for it."""
        for pull in self._drop_pulls(feed):
            if pull.is_confirmed and session.stream in self._arrivals:
                pull.ask = replace(pull.ask, at=pull.ask.end + 1, done=pull.ask.end)
                self._send(pull, lambda found: None)
        if (arrival := self._arrivals.get(session.stream)) is not None:
            arrival.expected.discard(subscription_of(feed))
            self._context.facts.publish_fact(ResumeChanged(session))

    def _drop_pulls(self, feed: Feed) -> list[Pull]:
        """Forget the resumes of a subscription. Their masters keep what they have pinned."""
        self._waiting.pop(feed, None)
        pulls = list(self._of_feed.pop(feed, {}).values())
        for pull in pulls:
            self._remove(pull)
        return pulls

    def _remove(self, pull: Pull) -> None:
        del self._pulls[pull.id], self._resumed[pull.id]
        self._again.pop(pull, None)
        _count_down(self._per_master, pull.master)
        if not pull.is_confirmed:
            self._confirm(pull)

    def _confirm(self, pull: Pull) -> None:
        """Count a master that has pinned its log for the subscription, or that will not do so."""
        stream = pull.session.stream
        _count_down(self._unconfirmed[stream], pull.master)
        if not self._unconfirmed[stream]:
            del self._unconfirmed[stream]

    def confirmed(self, stream: bytes) -> tuple[set[bytes], bool]:
        """Return the masters that have pinned their logs for a session, and whether these are all."""
        arrival = self._arrivals.get(stream)
        if arrival is None or arrival.expected:
            return set(), arrival is None
        left = self._unconfirmed.get(stream, Counter())
        return arrival.masters - left.keys(), not left

    # --- questions --------------------------------------------------------------------------------------

    def _on_login(self, peer: Peer) -> None:
        for pull in list(self._pulls.values()):
            if pull.master == peer.node.uuid:
                pull.is_asking = False
                self._ask(pull)

    def _on_forgotten(self, master: bytes) -> None:
        for pull in [pull for pull in self._pulls.values() if pull.master == master]:
            self._finish(pull)

    def _ask(self, pull: Pull) -> None:
        """Ask for the next page, if the master can be reached and the client keeps up."""
        if pull.is_asking or not pull.is_started or pull.id not in self._pulls:
            return
        if pull.is_complete and pull.open:
            return
        if not pull.is_complete and pull.feed.waiting_bytes > AHEAD:
            self._retry(pull)
            return
        if self._context.clock.now < pull.again_at:
            return
        if pull.is_confirmed:
            pull.ask = replace(pull.ask, done=pull.done)
        pull.is_asking = True
        self._send(pull, partial(self._on_page, pull, pull.ask))

    def _send(self, pull: Pull, then: OnPage) -> None:
        if not self._logs.ask(pull.master, pull.ask, then):
            pull.is_asking = False  # asked at its login

    def _on_page(self, pull: Pull, ask: AskResume, found: Answer) -> None:
        if pull.ask is not ask or pull.id not in self._pulls:
            return  # it was asked again at a login
        pull.is_asking = False
        if isinstance(found, LocalError):
            self._on_refused(pull, found)
        elif found is None:
            self._retry(pull)
        else:
            try:
                self._take_page(pull, *found)
            except RemoteError as error:
                self._on_refused(pull, LocalError(error.what, code=error.code))

    def _retry(self, pull: Pull) -> None:
        pull.again_at = self._context.clock.now + AGAIN
        self._again[pull] = None
        self._context.clock.wake(pull.again_at)

    def _on_refused(self, pull: Pull, error: LocalError) -> None:
        if error.code == "MOVED":  # this node is a former one now
            self._finish(pull)
        elif error.code == "UNKNOWN_PIN":  # the pin ended: begin anew
            at = next(iter(pull.open), pull.ask.at)
            pull.ask = replace(pull.ask, at=at, end=0, done=0)
            self._unconfirmed.setdefault(pull.session.stream, Counter())[pull.master] += 1
            self._ask(pull)
        elif error.code == "TOO_MANY":
            self._retry(pull)
        else:  # an earlier release, or a faulty node: messages may be missing
            name = self._logs.name_of(pull.master)
            text = f"{name} cannot resume a subscription of {pull.session.text}: messages may be missing"
            self._context.event("session", f"{text} [{error.code}]", level="warning")
            pull.feed.missed(1)
            self._finish(pull)

    def _take_page(self, pull: Pull, value: Resumed, envelopes: list[Envelope]) -> None:
        """Offer a page to the subscription, and ask for the next one."""
        is_first = not pull.is_confirmed
        check_page(pull.ask, value, envelopes)
        pull.ask = replace(pull.ask, end=value.end, at=value.next)
        if is_first:
            drop_up_to(pull.feed, pull.master, value.end)
        for position, envelope in zip(value.positions, envelopes, strict=True):
            self._offer(pull, position, envelope)
        if pull.is_complete:
            bring_back(pull.feed, pull.master, self._context.clock.now)
        if pull.is_complete and is_first and not envelopes:
            self._finish(pull)  # nothing matches
        elif pull.is_complete and not pull.open:
            self._release_pin(pull)
        self._context.out.outlets[pull.session.outlet] = None
        if is_first:
            self._confirm(pull)
            self._context.facts.publish_fact(ResumeChanged(pull.session))
        self._check_waiting(pull.feed)
        self._ask(pull)

    def _offer(self, pull: Pull, position: int, envelope: Envelope) -> None:
        is_own = pull.master == self._context.me.uuid
        if not is_own:
            self._context.clock.observe_timestamp(envelope)
            far = envelope.route[-1].stratum + 1 if envelope.route else 1
            envelope = replace(envelope, route=(*envelope.route, self._context.hop(far)))
        stored = StoredEnvelope(envelope, position, pull.master, source=pull.id, owed=1)
        pull.open[position] = None
        self._context.counters.add_count("resumed_messages", envelope.count)
        pull.feed.offer_resumed(EnvelopeSlice(stored, None), self._context.clock.now)

    # --- acknowledgements -------------------------------------------------------------------------------

    def _on_released(self, pull: Pull, stored: StoredEnvelope) -> None:
        """Record that the client has acknowledged a resumed envelope."""
        pull.open.pop(stored.position, None)
        if not pull.is_complete:
            self._ask(pull)
        elif not pull.open:
            self._release_pin(pull)

    def _release_pin(self, pull: Pull) -> None:
        """Report to the master that the client has everything. Its reply ends the resume."""
        if pull.ask.end and pull.ask.done < pull.ask.end and not pull.is_asking:
            pull.ask = replace(pull.ask, at=pull.ask.end + 1, done=pull.ask.end)
            pull.is_asking = True
            self._send(pull, partial(self._on_pin_released, pull, pull.ask))

    def _on_pin_released(self, pull: Pull, ask: AskResume, found: Answer) -> None:
        if pull.ask is not ask or pull.id not in self._pulls:
            return
        pull.is_asking = False
        if found is None:
            pull.ask = replace(pull.ask, done=0)
            self._retry(pull)
        else:
            self._finish(pull)

    def _finish(self, pull: Pull) -> None:
        """End the resume of one log: its newer messages follow."""
        if pull.id not in self._pulls:
            return
        self._remove(pull)
        bring_back(pull.feed, pull.master, self._context.clock.now)
        self._context.out.outlets[pull.session.outlet] = None
        pulls = self._of_feed.get(pull.feed, {})
        pulls.pop(pull.master, None)
        if not pulls:
            self._of_feed.pop(pull.feed, None)
        self._check_waiting(pull.feed)
        self._context.facts.publish_fact(ResumeChanged(pull.session))

    # --- time -------------------------------------------------------------------------------------------

    def _check_waiting(self, feed: Feed) -> None:
        """Run the waiting calls of a subscription once all reachable masters have sent their logs."""
        if feed not in self._waiting:
            return
        pulls = self._of_feed.get(feed, {}).values()
        if all(pull.is_complete or not self._logs.is_reachable(pull.master) for pull in pulls):
            self._waiting.pop(feed)[1]()

    def tick(self) -> None:
        now = self._context.clock.now
        for feed in [feed for feed, (due, _) in self._waiting.items() if due <= now]:
            self._waiting.pop(feed)[1]()
        for pull in [pull for pull in self._again if pull.again_at <= now]:
            del self._again[pull]
            if pull.is_complete and not pull.open:
                self._release_pin(pull)
            else:
                self._ask(pull)


def _count_down(counts: Counter[bytes], key: bytes) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
