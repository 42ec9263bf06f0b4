"""Where does an envelope go from here? Published by a client of this node, or handed on by a master."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.core.desk import Desk
from mesh.core.effects import Commit
from mesh.errors import LocalError, MeshError
from mesh.patterns import matches
from mesh.routing.feed import Feed, Portion
from mesh.routing.log import Accepted, Lane, Log, Targets
from mesh.routing.pacing import Pacing
from mesh.routing.parcel import Parcel
from mesh.routing.subscriptions import Subscriptions
from mesh.values import check_domain, check_key
from mesh.wire.commands import Answer
from mesh.wire.envelope import LOCAL_ONLY, Envelope

Answered = Callable[[Answer], None]
CHECKED = 100_000  # keys remembered as well-formed


class Router:
    """Subscriptions of clients and of peers, the log, and what waits for the disk."""

    def __init__(self, desk: Desk, log: Log) -> None:
        self.clients = Subscriptions()
        self.peers = Subscriptions()
        self.log = log
        self.pacing = Pacing()
        self._desk = desk
        self._token = 0
        self._storing: dict[int, tuple[Lane, Accepted, bytes, Answered]] = {}
        self._checked: set[str] = set()

    @property
    def storing(self) -> int:
        """Commits under way."""
        return len(self._storing)

    def publish(self, source: bytes, sender: str, envelope: Envelope, answered: Answered) -> None:
        """Take an envelope as its master, answer it and deliver it: at once, or when it is stored."""
        lane = self.log.lane(envelope.stream, envelope.domain, self._desk.now)
        try:
            self._check(envelope)
            fresh = lane.origin.accept(envelope.first, envelope.last, envelope.low)
        except LocalError as error:
            self._desk.count("refused", envelope.count)
            answered(_refusal(envelope, error))
            return
        if fresh != [(envelope.first, envelope.last)]:
            if not self._repeated(lane, envelope, fresh, answered):
                return
            envelope = _only(envelope, fresh)
        self._desk.count("published", envelope.count)
        stamped = envelope.stamped(sender, self._desk.stamp(), self._desk.hop(0))
        accepted, ops = self.log.accept(lane, stamped, self._targets(stamped), self._desk.me.uuid)
        if ops:
            self._token += 1
            self._storing[self._token] = (lane, accepted, source, answered)
            self._desk.emit(Commit(self._token, (*self.log.take_later(), *ops)))
        if not lane.waiting:
            self._deliver(accepted, source, answered)
        elif accepted.stored:
            accepted.when_first = lambda: self._deliver(accepted, source, answered)

    def stored(self, token: int, error: MeshError | None) -> None:
        """A commit has ended; what waited for it, and behind it, goes on in the publisher's order."""
        lane, accepted, source, answered = self._storing.pop(token)
        accepted.stored = True
        if error is None:
            accepted.when_first = lambda: self._deliver(accepted, source, answered)
        else:
            self.log.withdraw(lane, accepted)
            self._desk.count("refused", accepted.parcel.envelope.count)
            refusal = _refusal(accepted.parcel.envelope, error)
            accepted.when_first = lambda: answered(refusal)
        while lane.waiting and lane.waiting[0].stored:
            lane.waiting.popleft().when_first()

    def relay(self, parcel: Parcel, source: bytes, done: Callable[[], None]) -> None:
        """Hand what a master sent to this node's own subscribers; `done` when the peer may go on."""
        targets = list(self.clients.plan(parcel.envelope))
        if parcel.position:
            parcel.owed = len(targets)
        self._desk.count("relayed", parcel.envelope.count)
        self._offer(parcel, targets, source, done)

    def initial(self, feed: Feed, values: Iterable[tuple[bytes, Envelope]]) -> None:
        """Give a new subscription the values that are there already, in each publisher's order."""
        for master, envelope in sorted(values, key=lambda v: (v[1].sent, v[1].stream, v[1].first)):
            feed.offer(Portion(Parcel(envelope, master=master)), self._desk.now)

    def restore(self, envelopes: Iterable[tuple[int, Envelope]]) -> None:
        """From the store, at start: who is still owed what."""
        for position, envelope in envelopes:
            parcel = Parcel(envelope, position, self._desk.me.uuid, own=True)
            owing = [(f, i) for f, i in self._targets(envelope) if _is_owed(f, position, envelope)]
            parcel.owed = len(owing)
            self.log.live += 1
            if not owing:
                self.log.released(parcel)
            for feed, indices in owing:
                feed.offer(Portion(parcel, indices), self._desk.now)

    def _check(self, envelope: Envelope) -> None:
        check_domain(envelope.domain)
        for key in envelope.keys:
            if key not in self._checked:
                check_key(key)
                if len(self._checked) >= CHECKED:
                    self._checked.clear()
                self._checked.add(key)

    def _repeated(
        self, lane: Lane, envelope: Envelope, fresh: list[tuple[int, int]], answered: Answered
    ) -> bool:
        """Answer what is known already. Is there anything new beside it?"""
        self._desk.count("repeated", envelope.count)
        under_way = any(
            a.answer.first <= envelope.last and envelope.first <= a.answer.last for a in lane.waiting
        )
        if not under_way:  # else the answer comes when it is stored
            answered(Answer(envelope.domain, envelope.first, envelope.last))
        return bool(fresh)

    def _targets(self, envelope: Envelope) -> Targets:
        targets = list(self.clients.plan(envelope))
        if not envelope.flags & LOCAL_ONLY:
            targets += self.peers.plan(envelope)
        return targets

    def _deliver(self, accepted: Accepted, source: bytes, answered: Answered) -> None:
        self.log.remember(accepted.values)
        if not accepted.targets:
            self._desk.count("unrouted", accepted.parcel.envelope.count)
        self._offer(accepted.parcel, accepted.targets, source, lambda: answered(accepted.answer))

    def _offer(self, parcel: Parcel, targets: Targets, source: bytes, done: Callable[[], None]) -> None:
        waiting: list[tuple[Feed, Portion]] = []
        for feed, indices in targets:
            portion = Portion(parcel, indices)
            feed.offer(portion, self._desk.now)
            if portion.waiting:
                waiting.append((feed, portion))
        self.pacing.hold(source, waiting, done)


def _is_owed(feed: Feed, position: int, envelope: Envelope) -> bool:
    return position > feed.position and any(
        since <= position and any(matches(query.text, key) for key in envelope.keys)
        for query, since in feed.queries.items()
    )


def _only(envelope: Envelope, fresh: list[tuple[int, int]]) -> Envelope:
    """The messages whose numbers are new."""
    numbers = envelope.number_list(range(envelope.count))
    return envelope.cut([i for i, n in enumerate(numbers) if any(a <= n <= b for a, b in fresh)])


def _refusal(envelope: Envelope, error: MeshError) -> Answer:
    return Answer(envelope.domain, envelope.first, envelope.last, state=error.code, text=str(error))
