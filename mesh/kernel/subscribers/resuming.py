"""The visited node's side of a move: resumes the subscriptions of a session from the logs of all masters."""

# Law 1: every master that may owe the session something is asked, now or when it logs in.
# Law 2: a master is confirmed when it has pinned its log for all subscriptions of the session.
# Law 3: what the client has acknowledged of a resumed log is released at the master; the rest stays there.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from mesh.errors import LocalError, RemoteError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.facts import LoggedIn
from mesh.kernel.peers.neighbours import Neighbours
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Replies
from mesh.kernel.subscribers.facts import ResumeChanged
from mesh.kernel.subscribers.resume_source import Page, ResumeSource
from mesh.kernel.subscribers.session import Session
from mesh.routing.aside import bring_back, drop_up_to, set_aside
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.interest import CLIENTS
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskResume
from mesh.wire.commands import Certificate, Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MIB, VISITS
from mesh.wire.replies import Resumed

WITHIN = 10.0  # s for a page
AGAIN = 1.0  # s until a failed question is repeated
PATIENCE = 4.0  # s that a subscription waits for masters before its first values
AHEAD = 4 * MIB  # bytes that may wait for the client before the next page
MASTERS = 64  # masters of one subscription


@dataclass(slots=True, eq=False)
class Pull:
    """The resume of one master's log for one subscription."""

    session: Session
    feed: Feed
    master: bytes
    ask: AskResume  # the next question
    id: bytes  # `source` of its envelopes
    is_started: bool = False
    is_asking: bool = False
    again_at: float = 0.0  # when a failed question may be repeated
    open: dict[int, None] = field(default_factory=dict)  # positions that the client has not acknowledged

    @property
    def is_confirmed(self) -> bool:
        """Whether the master has pinned its log."""
        return self.ask.end > 0

    @property
    def is_complete(self) -> bool:
        """Whether all pages have arrived."""
        return self.is_confirmed and self.ask.at > self.ask.end

    @property
    def done(self) -> int:
        """The position up to which the client has everything."""
        return next(iter(self.open), self.ask.at) - 1


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
        neighbours: Neighbours,
        demand: InterestSync,
        questions: PeerCalls,
        source: ResumeSource,
        resumed: dict[bytes, Callable[[StoredEnvelope], None]],
    ) -> None:
        self._resumed = resumed
        self._arrivals: dict[bytes, Arrival] = {}  # by stream
        self._context = context
        self._neighbours = neighbours
        self._demand = demand
        self._questions = questions
        self._source = source
        self._pulls: dict[bytes, Pull] = {}  # by id
        self._of_feed: dict[Feed, dict[bytes, Pull]] = {}  # by master
        self._waiting: dict[Feed, tuple[float, Callable[[], None]]] = {}  # deadline, and what follows
        self._count = 0

    def features(self) -> Sequence[str]:
        return (VISITS,)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(LoggedIn, lambda fact: self._on_login(fact.peer)),)

    def figures(self) -> dict[str, int | float]:
        return {"resuming": len(self._pulls)}

    def requires_login(self, peer: Peer) -> bool:
        return any(pull.master == peer.node.uuid for pull in self._pulls.values())

    # --- subscriptions ----------------------------------------------------------------------------------

    def arrive(
        self, stream: bytes, certificate: Certificate, former: Iterable[bytes], expected: Iterable[int]
    ) -> None:
        """Resume the subscriptions `expected` of a session when its client repeats them."""
        self._arrivals[stream] = Arrival(certificate, list(former), set(expected))

    def leave(self, stream: bytes) -> None:
        """Stop resuming the subscriptions of a session, which left or is complete."""
        self._arrivals.pop(stream, None)

    def prepare(self, session: Session, feed: Feed, query: Query, since: Mapping[bytes, int]) -> bool:
        """Let a subscription that is to be resumed wait for its logs; return False if it begins here.

        `since` has the client's position in each log.
        """
        arrival = self._arrivals.get(session.stream)
        number = int.from_bytes(feed.key[-4:])
        if arrival is None or number not in arrival.expected:
            return False
        self._drop_pulls(feed)
        targets = self._demand.targets(query, (CLIENTS,))
        masters = list(dict.fromkeys((*sorted(targets), *since, *arrival.former, self._context.me.uuid)))[
            :MASTERS
        ]
        pulls = self._of_feed[feed] = {}
        for master in masters:
            ask = AskResume(
                certificate=arrival.certificate,
                subscription=number,
                query=query,
                at=since.get(master, 0),
                former=arrival.former,
            )
            self._count += 1
            pull = Pull(session, feed, master, ask, b"resume" + self._count.to_bytes(8))
            pulls[master] = self._pulls[pull.id] = pull
            self._resumed[pull.id] = partial(self._on_released, pull)
            set_aside(feed, master)
        arrival.masters.update(masters)
        return True

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
            arrival.expected.discard(int.from_bytes(feed.key[-4:]))
            self._context.facts.publish_fact(ResumeChanged(session))
        self._check_waiting(feed)

    def end(self, session: Session, feed: Feed) -> None:
        """Stop resuming a subscription that ended, and release what masters keep for it."""
        self._drop_pulls(feed)
        if (arrival := self._arrivals.get(session.stream)) is not None:
            arrival.expected.discard(int.from_bytes(feed.key[-4:]))
            self._context.facts.publish_fact(ResumeChanged(session))

    def _drop_pulls(self, feed: Feed) -> None:
        self._waiting.pop(feed, None)
        for pull in list(self._of_feed.pop(feed, {}).values()):
            self._remove(pull)
            if pull.is_confirmed:
                pull.ask = replace(pull.ask, at=pull.ask.end + 1, done=pull.ask.end)
                self._send(pull, lambda found: None)

    def _remove(self, pull: Pull) -> None:
        self._pulls.pop(pull.id, None)
        self._resumed.pop(pull.id, None)

    def confirmed(self, stream: bytes) -> tuple[set[bytes], bool]:
        """Return the masters that have pinned their logs for a session, and whether these are all."""
        arrival = self._arrivals.get(stream)
        if arrival is None or arrival.expected:
            return set(), arrival is None
        pulls = [pull for pull in self._pulls.values() if pull.session.stream == stream]
        open_ones = {pull.master for pull in pulls if not pull.is_confirmed}
        return arrival.masters - open_ones, not open_ones

    # --- questions --------------------------------------------------------------------------------------

    def _on_login(self, peer: Peer) -> None:
        for pull in list(self._pulls.values()):
            if pull.master == peer.node.uuid:
                pull.is_asking = False
                self._ask(pull)

    def _ask(self, pull: Pull) -> None:
        """Ask for the next page, if the master can be reached and the client keeps up."""
        if pull.is_asking or not pull.is_started or pull.id not in self._pulls:
            return
        if pull.is_complete and pull.open:
            return
        if not pull.is_complete and pull.feed.waiting_bytes > AHEAD:
            self._context.clock.wake(self._context.clock.now + AGAIN)
            return
        if self._context.clock.now < pull.again_at:
            self._context.clock.wake(pull.again_at)
            return
        if pull.is_confirmed:
            pull.ask = replace(pull.ask, done=pull.done)
        pull.is_asking = True
        self._send(pull, partial(self._on_page, pull))

    def _send(self, pull: Pull, then: Callable[[Page | LocalError | None], None]) -> None:
        if pull.master == self._context.me.uuid:
            try:
                self._source.resume(pull.ask, pull.master, then)
            except LocalError as error:
                then(error)
            return
        peer = self._neighbours.peers.get(pull.master)
        if peer is None or peer.data is None:
            pull.is_asking = False  # asked at its login
            if peer is not None:
                self._neighbours.review_login(peer)
        elif VISITS not in peer.speaks:
            then(LocalError("The node runs an earlier release.", code="UNKNOWN_VERB"))
        else:
            came = partial(self._on_replies, pull.master, then)
            self._questions.ask_all([peer], pull.ask, Resumed, came, WITHIN, is_patient=True)

    def _on_replies(
        self,
        master: bytes,
        then: Callable[[Page | LocalError | None], None],
        replies: Replies[Resumed],
        missing: list[str],
    ) -> None:
        reply = replies.get(master)
        if reply is None:
            then(None)
        elif reply.code:
            then(LocalError("The master refused to resume its log.", code=reply.code))
        else:
            then((reply.value, [envelope for envelope, _ in reply.found]))

    def _on_page(self, pull: Pull, found: Page | LocalError | None) -> None:
        pull.is_asking = False
        if pull.id not in self._pulls:
            return
        if isinstance(found, LocalError):
            self._on_refused(pull, found)
        elif found is None:
            pull.again_at = self._context.clock.now + AGAIN
            self._ask(pull)
        else:
            try:
                self._take_page(pull, *found)
            except RemoteError as error:
                self._on_refused(pull, LocalError(error.what, code=error.code))

    def _on_refused(self, pull: Pull, error: LocalError) -> None:
        if error.code == "MOVED":  # this node is a former one now
            self._finish(pull)
        elif error.code == "UNKNOWN_PIN":  # the pin ended: begin anew
            at = next(iter(pull.open), pull.ask.at)
            pull.ask = replace(pull.ask, at=at, end=0, done=0)
            self._ask(pull)
        elif error.code == "TOO_MANY":
            pull.again_at = self._context.clock.now + AGAIN
            self._ask(pull)
        else:  # an earlier release, or a faulty node: messages may be missing
            name = (
                self._neighbours.peers[pull.master].node.name
                if pull.master in self._neighbours.peers
                else "?"
            )
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
            if not pull.open:
                self._release_pin(pull)
        self._context.out.outlets[pull.session.outlet] = None
        if is_first:
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
        """Tell the master that the client has everything. The resume is over when it has answered."""
        if pull.ask.end and pull.ask.done < pull.ask.end and not pull.is_asking:
            pull.ask = replace(pull.ask, at=pull.ask.end + 1, done=pull.ask.end)
            pull.is_asking = True
            self._send(pull, partial(self._on_pin_released, pull))

    def _on_pin_released(self, pull: Pull, found: Page | LocalError | None) -> None:
        pull.is_asking = False
        if found is None:
            pull.ask = replace(pull.ask, done=0)
            pull.again_at = self._context.clock.now + AGAIN
            self._context.clock.wake(pull.again_at)
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
        """Call what waits for a subscription once all reachable masters have sent their logs."""
        if feed not in self._waiting:
            return
        pulls = self._of_feed.get(feed, {}).values()
        if all(pull.is_complete or not self._is_reachable(pull.master) for pull in pulls):
            self._waiting.pop(feed)[1]()

    def _is_reachable(self, master: bytes) -> bool:
        peer = self._neighbours.peers.get(master)
        return master == self._context.me.uuid or (peer is not None and peer.alive)

    def tick(self) -> None:
        now = self._context.clock.now
        for feed in [feed for feed, (due, _) in self._waiting.items() if due <= now]:
            self._waiting.pop(feed)[1]()
        for pull in list(self._pulls.values()):
            if pull.again_at and pull.again_at <= now:
                pull.again_at = 0.0
            if pull.is_complete and not pull.open:
                self._release_pin(pull)
            else:
                self._ask(pull)


def check_page(ask: AskResume, value: Resumed, envelopes: Sequence[Envelope]) -> None:
    """Raise RemoteError for a page that no correct master sends."""
    places = [ask.at - 1, *value.positions, max(value.next, 1)]
    is_ordered = all(a < b for a, b in pairwise(places))
    is_within = not ask.end or value.end == ask.end
    is_sound = len(value.positions) == len(envelopes) and value.next <= value.end + 1
    if not (is_ordered and is_within and is_sound) or any(e.to or not e.persistent for e in envelopes):
        raise RemoteError("a page of a resumed log is malformed", code="MALFORMED")
