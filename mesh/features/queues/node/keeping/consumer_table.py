"""The consumers of queues: CONSUME and SETTLE from clients."""

# Law 1: a consumer is on disk before its request is answered and before it receives messages.
# Law 2: a settlement is answered when it is on disk, if the client requests an answer. The answer lists
#        the tags that the consumer no longer had; their settlement changes nothing.
# Law 3: a consumer that disconnects for a short time keeps the messages that it names when it returns, here
#        or at another node.

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import inf

from mesh.errors import BadArgument, LocalError, MeshError, NoQueue, RemoteError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer, grace
from mesh.features.queues.model.consumers.remote_claim import Message, split_held, without_tags
from mesh.features.queues.model.envelopes.counts import Runs, joined
from mesh.features.queues.model.selecting.selector import Selector
from mesh.features.queues.node.keeping.consumer_row import FIXED, ConsumerRow
from mesh.features.queues.node.keeping.facts import Consumes
from mesh.features.queues.node.keeping.queue_sink import QueueSink
from mesh.features.queues.node.keeping.queues import Queues
from mesh.features.queues.node.keeping.remote_claims import RemoteClaims
from mesh.features.queues.node.keeping.rows import Rows
from mesh.features.queues.node.keeping.settlement import settle
from mesh.flow.outstanding_deliveries import ranges_of
from mesh.kernel.context.component import Component, DeliverySource
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.facts import SessionAway, SessionClosed
from mesh.kernel.subscribers.session import Session, feed_key
from mesh.names import QUEUE, SUBS, taken_of
from mesh.printable import count as counted
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.wire.commands import Consume, Ended, Reply, Settle
from mesh.wire.envelope import Envelope
from mesh.wire.limits import QUEUE_CREDIT, VISITS
from mesh.wire.replies import Late, Opened

ALL, OVER = 2**32 - 1, "LEASE_OVER"  # all delivery tags, and the code of a late settlement


class ConsumerTable(Component):
    """The consumers of queues, by session and number of the subscription."""

    def __init__(
        self, context: NodeContext, queues: Queues, claims: RemoteClaims, others: Mapping[bytes, object]
    ) -> None:
        """Set up an empty table. `others` is empty while this node knows no other node."""
        self._context = context
        self._queues = queues
        self._claims = claims
        self._others = others
        self._of: dict[Session, dict[int, tuple[QueueSink, QueueConsumer]]] = {}
        self._sessions: dict[bytes, Session] = {}  # by the key of the consumer
        self._away: dict[tuple[Session, int], float] = {}  # until when
        self._answers: dict[Rows, list[tuple[Conn, int, Late]]] = {}  # by the store that has to commit first
        self._epoch = 0

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(SessionAway, lambda fact: self._session_away(fact.session)),
            on_fact(SessionClosed, lambda fact: self._session_closed(fact.session)),
        )

    def delivery_sources(self) -> Mapping[str, DeliverySource]:
        return {QUEUE: self}

    def has(self, session: Session, number: int) -> bool:
        return number in self._of.get(session, ())

    def has_consumer(self, session: Session) -> bool:
        return bool(self._of.get(session))

    def has_work(self, session: Session) -> bool:
        return any(taker.busy or taker.claimed for _, taker in self._of.get(session, {}).values())

    def consumers_of(self, session: Session) -> Iterable[tuple[QueueSink, QueueConsumer]]:
        return self._of.get(session, {}).values()

    def push(self, taker: QueueConsumer, slice_: EnvelopeSlice) -> None:
        self._context.out.push_slice(self._sessions[taker.key].outlet, taker, slice_)

    # --- registration -----------------------------------------------------------------------------------

    def begin(self, conn: Conn, session: Session, command: Consume) -> None:
        """Handle CONSUME: register or replace a consumer, or end it if credit is 0. Raises: LocalError."""
        queue, number = self._queues.get(taken_of(command.address)), command.subscription
        ours = self._of.get(session, {})
        if number in ours and ours[number][0] is not queue:
            other = ours[number][0].name
            what = f"{session.name} uses the subscription number {number} for the queue {other!r}."
            raise BadArgument(what, hint="Use another number.")
        if not command.credit:
            if number in ours:
                self._end_consumer(session, number, command.begun)
            self._context.out.send(conn, Reply(command.request, {}))
            self._trace(session, command)
            return
        self._check(session, command)
        selector = Selector(command.selector) if command.selector else None
        lease = command.lease / 1000 if command.lease else inf
        self._epoch += 1
        key = feed_key(session.stream, number)
        taker = QueueConsumer(key, session.text, self._epoch, command.credit, selector, lease)
        taker.is_paused = True
        taker.grace = grace(can_move := VISITS in conn.speaks and bool(self._others), lease)
        here, elsewhere = split_held(command.held, command.held_at, self._context.me.uuid)
        if number in ours:
            session.outlet.drop_slices(ours[number][1])
            self._claims.end(ours[number][1], ALL, kept=elsewhere)
        self._of.setdefault(session, {})[number] = queue, taker
        self._sessions[key] = session
        self._away.pop((session, number), None)
        self._trace(session, command)
        void = queue.add_consumer(taker, here)
        row = ConsumerRow(session.text, command.credit, self._attach(session) if can_move else FIXED)
        begun = partial(self._registered, conn, session, command, taker, void, elsewhere)
        queue.rows.takes(queue.name, key, row, begun)

    def _attach(self, session: Session) -> int:
        known = self._context.visits.find(session.stream)
        return known.attach if known is not None else 0

    def _trace(self, session: Session, command: Consume) -> None:
        if self._context.facts.watched:
            self._context.facts.publish_fact(Consumes(session, command))

    def _check(self, session: Session, command: Consume) -> None:
        if command.credit > QUEUE_CREDIT:
            what = f"The prefetch {command.credit:,} is too large."
            raise BadArgument(what, hint=f"The limit is {QUEUE_CREDIT:,}.")
        if command.held_at and len(command.held_at) != len(command.held):
            raise RemoteError("held_at and held have different lengths", code="MALFORMED")
        if command.local_only:
            raise BadArgument(
                "A queue consumer cannot be local-only.",
                hint="Only a server of an address can be local-only.",
            )
        ours = self._of.get(session, {})
        most = self._context.settings.max_subscriptions
        if command.subscription not in ours and len(ours) >= most:
            what = f"{session.name} has {counted(len(ours), 'queue consumer')}; the limit is {most:,}."
            hint = "Close some consumers, or raise `limits.session_subscriptions` of the node."
            raise LocalError(what, hint=hint, code="TOO_MANY")

    def _registered(
        self,
        conn: Conn,
        session: Session,
        command: Consume,
        taker: QueueConsumer,
        void: Runs,
        elsewhere: Mapping[bytes, Mapping[int, Message]],
        error: MeshError | None,
    ) -> None:
        """Claim what the consumer has of other nodes, and open its epoch afterwards."""
        queue = self._queue_of(session, command.subscription, taker)
        if queue is None:
            return
        if error is not None:
            self._end_consumer(session, command.subscription)
            self._context.out.send(conn, Reply(command.request, code=error.code, text=str(error)))
            return
        begin = partial(self._begun, conn, session, command, taker, void, elsewhere)
        terms = command.subscription, command.lease
        self._claims.begin(session, queue, taker, terms, elsewhere, begin)

    def _begun(
        self,
        conn: Conn,
        session: Session,
        command: Consume,
        taker: QueueConsumer,
        void: Runs,
        elsewhere: Mapping[bytes, Mapping[int, Message]],
        over: list[int],
    ) -> None:
        queue = self._queue_of(session, command.subscription, taker)
        if queue is None:
            return
        taker.is_paused = False
        if elsewhere:
            claimed = {tag for tags in elsewhere.values() for tag in tags}
            here = {tag for first, last in void for tag in range(first, last + 1)} - claimed
            void = joined(sorted({*here, *over}))
        opened = Opened(epoch=taker.epoch, void=[n for run in void for n in run])
        self._context.out.send(conn, Reply(command.request, opened))
        self._queues.schedule.schedule_queue(queue)

    def _queue_of(self, session: Session, number: int, taker: QueueConsumer) -> QueueSink | None:
        """Return the queue of a consumer, or `None` if it has left or registered again."""
        queue, now = self._of.get(session, {}).get(number, (None, None))
        return queue if now is taker else None

    def _end_consumer(self, session: Session, number: int, begun: int = ALL) -> None:
        queue, taker = self._of[session].pop(number)
        self._away.pop((session, number), None)
        session.outlet.drop_slices(taker)
        if self._sessions.get(taker.key) is session:
            del self._sessions[taker.key]
        self._claims.end(taker, begun)
        if queue.part.takers.get(taker.key) is taker:  # not claimed by another node
            queue.close(taker, inf if begun == ALL else begun)
            queue.write_changed()  # before its row is deleted, for a crash in between
            queue.rows.takes_no_more(queue.name, taker.key)
        if not self._of[session]:
            del self._of[session]

    def _session_away(self, session: Session) -> None:
        for number, (queue, taker) in self._of.get(session, {}).items():
            if (session, number) in self._away:
                continue  # the session was disconnected before, and is closed now
            session.outlet.drop_slices(taker)
            queue.away(taker, self._context.clock.now)
            until = self._away[session, number] = self._context.clock.now + taker.grace
            self._context.clock.wake(until)

    def _session_closed(self, session: Session) -> None:
        if self._context.visits.has_left(session.stream, self._context.me.uuid):
            return  # its new node may claim its messages
        for number in list(self._of.get(session, ())):
            self._end_consumer(session, number)

    def on_queue_removed(self, queue: QueueSink) -> None:
        """End the consumers of a removed queue, and notify their clients."""
        what = f"The queue {queue.name!r} was deleted."
        if queue.name.startswith(SUBS):
            what = f"The durable subscription {queue.name.removeprefix(SUBS)!r} was removed."
        error = NoQueue(what)
        for session, takers in list(self._of.items()):
            for number in [n for n, (each, _) in takers.items() if each is queue]:
                self._end_consumer(session, number)
                session.ended[number] = Ended(number, error.code, str(error))
                self._context.out.send(session.conn, session.ended[number])

    def tick(self) -> None:
        for session, number in [
            each for each, until in self._away.items() if until <= self._context.clock.now
        ]:
            self._end_consumer(session, number)
        for until in self._away.values():
            self._context.clock.wake(until)

    # --- settlement -------------------------------------------------------------------------------------

    def settle(self, conn: Conn, session: Session, command: Settle, envelopes: list[Envelope]) -> None:
        """Handle SETTLE. Raises: RemoteError for delivery tags that were never used, or for replies.

        The caller checks that the consumer exists.
        """
        if envelopes or command.replied:
            raise RemoteError("a settlement of queue messages has replies", code="MALFORMED")
        queue, taker = self._of[session][command.subscription]
        done = list(ranges_of(command.done))
        if taker.epoch != command.epoch:
            self._context.counters.add_count("settled_late")
            over = [*done, *((first, last) for first, last, *_ in command.entries)]
            self._answer(conn, queue, command.request, over)
            return
        remote = self._claims.tags(taker)
        if not remote:
            over = settle(self._context, queue, taker, done, command.entries)
            self._answer(conn, queue, command.request, over)
            return
        for first, last in (*done, *((entry[0], entry[1]) for entry in command.entries)):
            taker.holding.check_tags(first, last)
        over = settle(self._context, queue, taker, *without_tags(done, command.entries, remote))

        def settled(others: Runs) -> None:
            self._answer(conn, queue, command.request, [*over, *others])

        self._commit(queue)
        self._claims.settle(taker, done, command.entries, settled)

    def _answer(self, conn: Conn, queue: QueueSink, request: int, over: Runs) -> None:
        """Answer a settlement after the next commit, if the client requests an answer."""
        if request:
            late: Late = [(first, last, OVER) for first, last in over]
            self._answers.setdefault(queue.rows, []).append((conn, request, late))
            self._commit(queue)

    def _commit(self, queue: QueueSink) -> None:
        self._answers.setdefault(queue.rows, [])
        self._context.out.ending[self._answer_settlements] = None

    def _answer_settlements(self) -> None:
        """Answer the settlements of an event after one commit to each store."""
        answers, self._answers = self._answers, {}
        for rows, each in answers.items():
            rows.commit_if_any(partial(self._written, each))

    def _written(self, answers: list[tuple[Conn, int, Late]], error: MeshError | None) -> None:
        for conn, request, over in answers:
            if error is None:
                self._context.out.send(conn, Reply(request, over))
            else:
                self._context.out.send(conn, Reply(request, code=error.code, text=str(error)))
