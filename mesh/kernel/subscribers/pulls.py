"""Asks masters for the pages of resumed logs, offers them to the subscriptions, and releases the pins."""

# Law: what the client has acknowledged of a resumed log is released at the master; the rest stays there.

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, KeysView, Sequence
from functools import partial

from msgspec.structs import replace

from mesh.errors import LocalError, RemoteError
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.subscribers.facts import ResumeChanged
from mesh.kernel.subscribers.master_logs import Answer, MasterLogs, OnPage
from mesh.kernel.subscribers.pull import Pull, check_page
from mesh.kernel.subscribers.session import Session
from mesh.routing.aside import bring_back, drop_up_to, set_aside, take_older
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.feed import Feed
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from mesh.wire.limits import MIB
from mesh.wire.replies import ResumedPage

AGAIN = 1.0  # s until a failed question is repeated
AHEAD = 4 * MIB  # bytes that may wait for the client before the next page


class Pulls:
    """The open pulls of this node.

    `resumed` maps the sources of resumed envelopes to their handlers. `is_requested(query, master)` returns
    whether newer messages of a master will come, apart from its log. `advanced` is called with the feed of a
    subscription after each page, and after the end of a pull, and `found` with further masters. The fact
    ResumeChanged is published when a master confirms, and when a pull ends.
    """

    def __init__(
        self,
        context: NodeContext,
        logs: MasterLogs,
        resumed: dict[bytes, Callable[[StoredEnvelope], None]],
        is_requested: Callable[[Query, bytes], bool],
        advanced: Callable[[Feed], None],
        found: Callable[[Session, Feed, list[bytes]], None],
    ) -> None:
        self._context = context
        self._logs = logs
        self._resumed = resumed
        self._is_requested = is_requested
        self._advanced = advanced
        self._found = found
        self._of_feed: dict[Feed, dict[bytes, Pull]] = {}  # by master
        self._pulls: dict[Pull, None] = {}
        self._per_master = Counter[bytes]()
        self._unconfirmed: dict[bytes, Counter[bytes]] = {}  # by stream: masters, with their open pulls
        self._again: dict[Pull, None] = {}  # to be asked again later
        self._count = 0

    def __len__(self) -> int:
        return len(self._pulls)

    def has_master(self, master: bytes) -> bool:
        """Return whether a log of the master is being resumed."""
        return master in self._per_master

    def unconfirmed(self, stream: bytes) -> KeysView[bytes]:
        """Return the masters that have not pinned their logs for all subscriptions of a session."""
        return self._unconfirmed.get(stream, Counter()).keys()

    def of_feed(self, feed: Feed) -> list[Pull]:
        return list(self._of_feed.get(feed, {}).values())

    def has_all_pages(self, feed: Feed) -> bool:
        """Return whether all reachable masters have sent their logs for a subscription."""
        return all(
            pull.is_complete or not self._logs.is_reachable(pull.master) for pull in self.of_feed(feed)
        )

    def add_pull(self, session: Session, feed: Feed, master: bytes, head: AskResume, row: ResumeRow) -> Pull:
        """Add the resume of a master's log for a subscription, which has none of that master.

        `start_pull` sends `row`, the first question, behind `head`. Newer messages of the master wait until
        the end.
        """
        self._count += 1
        row = replace(row, number=self._count)
        pull = Pull(session, feed, master, head, row, b"resume" + self._count.to_bytes(8))
        self._of_feed.setdefault(feed, {})[master] = pull
        self._pulls[pull] = None
        self._resumed[pull.id] = partial(self._on_released, pull)
        self._per_master[master] += 1
        self._count_unconfirmed(pull)
        set_aside(feed, master)
        return pull

    def start_pull(self, pull: Pull) -> None:
        """Ask for the first page. The master must have confirmed the query, or newer messages are lost."""
        pull.is_started = True
        self._ask(pull)

    def drop_feed(self, feed: Feed) -> list[bytes]:
        """Forget the pulls of a subscription, and return their masters, which may have pinned their logs."""
        pulls = self.of_feed(feed)
        for pull in pulls:
            self._remove(pull)
        return [pull.master for pull in pulls]

    def _remove(self, pull: Pull) -> None:
        pull.is_ended = True
        of_feed = self._of_feed[pull.feed]
        del of_feed[pull.master], self._pulls[pull], self._resumed[pull.id]
        if not of_feed:
            del self._of_feed[pull.feed]
        self._again.pop(pull, None)
        _count_down(self._per_master, pull.master)
        if not pull.is_confirmed:
            self._confirm(pull)

    def _count_unconfirmed(self, pull: Pull) -> None:
        self._unconfirmed.setdefault(pull.session.stream, Counter())[pull.master] += 1

    def _confirm(self, pull: Pull) -> None:
        """Count a master that has pinned its log for the subscription, or that will not do so."""
        stream = pull.session.stream
        _count_down(self._unconfirmed[stream], pull.master)
        if not self._unconfirmed[stream]:
            del self._unconfirmed[stream]

    # --- questions --------------------------------------------------------------------------------------

    def on_login(self, master: bytes) -> None:
        """Ask a master again, which may not have received the last questions."""
        for pull in [pull for pull in self._pulls if pull.master == master]:
            pull.is_asking = False
            self._ask(pull)

    def on_forgotten(self, master: bytes) -> None:
        for pull in [pull for pull in self._pulls if pull.master == master]:
            self._finish(pull)

    def _ask(self, pull: Pull) -> None:
        """Ask for the next page, if the master can be reached and the client keeps up."""
        if not pull.can_ask:
            return
        if not pull.is_complete and pull.feed.waiting_bytes > AHEAD:
            self._retry(pull)
            return
        if self._context.clock.now < pull.again_at:
            return
        if not (pull.is_confirmed or self._is_requested(pull.ask.query, pull.master)):
            self._retry(pull)  # no former node is released before newer messages come here
            return
        if pull.is_confirmed:
            pull.ask = replace(pull.ask, done=pull.done)
        pull.is_asking = True
        self._send(pull, partial(self._on_page, pull, pull.ask))

    def _send(self, pull: Pull, then: OnPage) -> None:
        if not self._logs.ask(pull.master, pull.head, pull.ask, then):
            pull.is_asking = False  # asked at its login

    def _on_page(self, pull: Pull, ask: ResumeRow, found: Answer) -> None:
        if pull.ask is not ask or pull.is_ended:
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
        elif error.code == "UNKNOWN_PIN":  # the pin ended
            if pull.is_confirmed:
                self._count_unconfirmed(pull)
            self._count += 1
            pull.begin_anew(self._count)
            self._ask(pull)
        elif error.code == "TOO_MANY":
            self._retry(pull)
        else:  # an earlier release, or a faulty node: messages may be missing
            name = self._logs.name_of(pull.master)
            text = f"{name} cannot resume a subscription of {pull.session.text}: messages may be missing"
            self._context.event("session", f"{text} [{error.code}]", level="warning")
            pull.feed.missed(1)
            self._finish(pull)

    def _take_page(self, pull: Pull, value: ResumedPage, envelopes: list[Envelope]) -> None:
        """Offer a page to the subscription, and ask for the next one."""
        is_first = not pull.is_confirmed
        check_page(pull.ask, value, envelopes)
        pull.turn_page(value)
        if is_first:
            drop_up_to(pull.feed, pull.master, value.end)
        self._offer_page(pull, value.positions, envelopes)
        self._found(pull.session, pull.feed, value.masters)
        if pull.is_complete:
            bring_back(pull.feed, pull.master, self._context.clock.now)
        if pull.is_complete and is_first and not envelopes:
            self._finish(pull)  # nothing matches
        elif pull.is_read:
            self._release_pin(pull)
        self._context.out.outlets[pull.session.outlet] = None
        if is_first:
            self._confirm(pull)
            self._context.facts.publish_fact(ResumeChanged(pull.session))
        self._advanced(pull.feed)
        self._ask(pull)

    def _offer_page(self, pull: Pull, positions: Sequence[int], envelopes: Sequence[Envelope]) -> None:
        """Offer the envelopes of a page, each after the transient messages that precede it in the log."""
        older = deque(take_older(pull.feed, pull.master, max(positions, default=0)))
        for position, envelope in zip(positions, envelopes, strict=True):
            while older and older[0].stored.after < position:
                pull.feed.offer_resumed(older.popleft(), self._context.clock.now)
            self._offer(pull, position, envelope)

    def _offer(self, pull: Pull, position: int, envelope: Envelope) -> None:
        is_own = pull.master == self._context.me.uuid
        if not is_own:
            self._context.clock.observe_timestamp(envelope)
            envelope = self._context.relayed(envelope)
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
        elif pull.is_read:
            self._release_pin(pull)

    def _release_pin(self, pull: Pull) -> None:
        """Report to the master that the client has everything. Its reply ends the resume."""
        if pull.ask.end and pull.ask.done < pull.ask.end and not pull.is_asking:
            pull.ask_release()
            pull.is_asking = True
            self._send(pull, partial(self._on_pin_released, pull, pull.ask))

    def _on_pin_released(self, pull: Pull, ask: ResumeRow, found: Answer) -> None:
        if pull.ask is not ask or pull.is_ended:
            return
        pull.is_asking = False
        if found is None:
            pull.ask = replace(pull.ask, done=0)
            self._retry(pull)
        else:
            self._finish(pull)

    def _finish(self, pull: Pull) -> None:
        """End the resume of one log: its newer messages follow."""
        if pull.is_ended:
            return
        self._remove(pull)
        bring_back(pull.feed, pull.master, self._context.clock.now)
        self._context.out.outlets[pull.session.outlet] = None
        self._advanced(pull.feed)
        self._context.facts.publish_fact(ResumeChanged(pull.session))

    def tick(self) -> None:
        """Repeat the failed questions that are due."""
        for pull in [pull for pull in self._again if pull.again_at <= self._context.clock.now]:
            del self._again[pull]
            if pull.is_read:
                self._release_pin(pull)
            else:
                self._ask(pull)


def _count_down(counts: Counter[bytes], key: bytes) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]
