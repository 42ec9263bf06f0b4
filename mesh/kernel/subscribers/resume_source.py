"""The log of this node for sessions that moved: pinned for each subscription, and read page by page."""

# Law 1: the first question pins the log from the client's position to the last one. The answer follows when
#        the pins of all its subscriptions are on disk.
# Law 2: a newer visit replaces the pin of an earlier one. An outdated question is refused.
# Law 3: a pin ends when nothing matches, or KEPT seconds after the last question; see also ResumePins.

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from mesh.errors import LocalError, MeshError
from mesh.kernel.asking.interest_sync import InterestSync
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.facts import SubscriptionsKnown
from mesh.kernel.subscribers.log_scan import LogScan, Page, PageSet
from mesh.kernel.subscribers.relayed_calls import RelayedCalls
from mesh.kernel.subscribers.resume_pins import Pin, ResumePins, is_its_question
from mesh.kernel.subscribers.sessions import Sessions
from mesh.operations import Put
from mesh.routing.feed import Feed
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire.calls import AskResume, ResumeRow
from mesh.wire.envelope import Envelope
from mesh.wire.limits import VISITS, XPATH
from mesh.wire.replies import Resumed, ResumedPage

KEPT = 3600.0  # s after which an unused pin ends
PINS = 100_000  # pinned subscriptions
FURTHER = 64  # nodes named in one page

Pages = tuple[Resumed, list[Envelope]]
OnPages = Callable[[Pages | LocalError], None]


@dataclass(slots=True, eq=False)
class Answering:
    """The answer to a question: for each of its subscriptions a page, or the code of a refusal."""

    ask: AskResume
    is_own: bool  # of this node
    then: OnPages
    pages: list[Page | str] = field(default_factory=list)
    new: dict[int, Put] = field(default_factory=dict)  # rows of new pins, by place in `pages`
    has_ended: bool = False  # a pin, whose end is not on disk yet

    @property
    def stream(self) -> bytes:
        """The stream id of the session."""
        return self.ask.certificate.stream


class ResumeSource(Component):
    """Component that answers `resume`: what this node's log has for a subscription that moved."""

    def __init__(
        self,
        context: NodeContext,
        disk: Disk,
        peers: dict[bytes, Peer],
        demand: InterestSync,
        sessions: Sessions,
        calls: RelayedCalls,
    ) -> None:
        self._context = context
        self._disk = disk
        self._peers = peers
        self._demand = demand
        self._sessions = sessions
        self._calls = calls
        self._pins = ResumePins(disk)
        self._scan = LogScan(context.out, disk)  # of the pages without an XPath

    def features(self) -> Sequence[str]:
        return (VISITS,)

    @property
    def has_log(self) -> bool:
        """True if this node's log may have something for a session that moved."""
        return self._disk.shelf.live > 0

    @property
    def must_be_asked(self) -> bool:
        """True if this node's log may have something, or pins of earlier visits that a question ends."""
        return self.has_log or len(self._pins) > 0

    def peer_verbs(self) -> Sequence[Verb]:
        return (self._calls.answer(AskResume, Resumed, self._on_resume),)

    def fact_handlers(self) -> Sequence[Hearing]:
        return (on_fact(SubscriptionsKnown, self._on_subscriptions),)

    def _on_subscriptions(self, fact: SubscriptionsKnown) -> None:
        certificate = fact.certificate
        self._pins.end_others(certificate.stream, certificate.attach, fact.subscriptions)

    def figures(self) -> dict[str, int | float]:
        pins = self._disk.shelf.pins
        return {"resume_pins": len(pins), "pinned_envelopes": pins.delayed}

    def start(self, beginning: Beginning) -> None:
        """Restore the pins before the log, whose unowed envelopes would be deleted otherwise."""
        for certificate in self._pins.start(beginning, self._context.clock.now):
            self._context.visits.observe(certificate)

    def on_second(self) -> None:
        self._disk.shelf.drop_unpinned()
        self._pins.end_unused(self._context.clock.now - KEPT)

    def _on_resume(self, asked: IncomingCall[AskResume], node: bytes) -> None:
        def send(pages: Pages | LocalError) -> None:
            if isinstance(pages, LocalError):
                asked.fail(pages)
            else:
                asked.reply(*pages)

        self.resume(asked.ask, node, send)

    def resume(self, ask: AskResume, node: bytes, then: OnPages) -> None:
        """Answer a question of the node with this id, which may be this node. Raises: LocalError."""
        for row in ask.rows:
            check_query(row.query)
            check_domain(row.query.domain)
        check_certificate(self._context, ask.certificate, node)
        if ask.subscriptions is not None:
            self._pins.end_others(ask.certificate.stream, ask.certificate.attach, ask.subscriptions)
        answering = Answering(ask, node == self._context.me.uuid, then)
        for row in ask.rows:
            try:
                page = self._go_on(row, answering) if row.end else self._begin(row, answering)
                answering.pages.append(page)
            except LocalError as error:
                answering.pages.append(error.code)
        if answering.new or answering.has_ended:
            self._disk.commit((*answering.new.values(),), partial(self._on_stored, answering))
        else:
            self._read(answering)

    # --- pins -------------------------------------------------------------------------------------------

    def _begin(self, row: ResumeRow, answering: Answering) -> Page:
        """Pin the log from the client's position to the last one, and return the first page to read."""
        ask, following, stream = answering.ask, self._disk.shelf.next_position, answering.stream
        if self._pins.has_ended(ask.certificate, row):
            raise LocalError("The pin has ended.", code="UNKNOWN_PIN")
        first, last = pinned_range(row.at, following, partial(self._first_owed, ask, row))
        if first > last or not self.has_log:
            self._pins.end(stream, row.subscription)
            return Page(row.query, last + 1, last)
        if self._pins.find(stream, row.subscription) is None and len(self._pins) >= PINS:
            raise LocalError(f"{self._context.me.name} has {PINS:,} pinned subscriptions.", code="TOO_MANY")
        pin = Pin(ask.certificate, row.subscription, first, last, self._context.clock.now, row.number)
        answering.new[len(answering.pages)] = self._pins.add_pin(pin)
        return Page(row.query, first, last)

    def _go_on(self, row: ResumeRow, answering: Answering) -> Page:
        """Release the positions that the client has, and return the next page to read."""
        pin = self._pins.find(answering.stream, row.subscription)
        if pin is None or not is_its_question(pin, answering.ask.certificate, row):
            raise LocalError("The pinned part of the log is no longer known here.", code="UNKNOWN_PIN")
        pin.used = self._context.clock.now
        if row.done >= row.end:
            self._pins.end(answering.stream, row.subscription)
        elif row.done >= pin.first:
            self._pins.settle(pin, row.done)
        if self._pins.find(answering.stream, row.subscription) is not None:
            return Page(row.query, min(max(row.at, pin.first), pin.last + 1), pin.last)
        answering.has_ended = True
        return Page(row.query, row.end + 1, row.end)

    def _first_owed(self, ask: AskResume, row: ResumeRow, last: int) -> int:
        """Return the first position that a former node is owed for the query, or `last` + 1.

        An earlier visit may have released a former node that had sent nothing yet. Then its pin counts.
        """
        pin = self._pins.find(ask.certificate.stream, row.subscription)
        found = [pin.first if pin is not None else last + 1, last + 1]
        for feed in self._former_feeds(ask, row):
            if row.query in feed.queries:
                found.append(max(feed.queries[row.query], 1))
        return min(found)

    def _former_feeds(self, ask: AskResume, row: ResumeRow) -> Iterator[Feed]:
        """Yield the feeds of former nodes. A node without questions may be behind any other one."""
        others = {uuid: peer.begun.feed for uuid, peer in self._peers.items() if peer.begun is not None}
        for uuid in ask.former:
            if uuid == self._context.me.uuid:
                session = self._sessions.by_stream.get(ask.certificate.stream)
                if session is not None and row.subscription in session.feeds:
                    yield session.feeds[row.subscription]
            elif uuid in others and others[uuid].queries:
                yield others[uuid]
            else:
                yield from others.values()

    # --- pages ------------------------------------------------------------------------------------------

    def _on_stored(self, answering: Answering, error: MeshError | None) -> None:
        """Read the pages when the pins are on disk; a new pin may find no room there."""
        if isinstance(error, LocalError):
            for place in answering.new:
                answering.pages[place] = error.code
        if error is None or isinstance(error, LocalError):
            self._read(answering)

    def _read(self, answering: Answering) -> None:
        pages = [page for page in answering.pages if isinstance(page, Page)]
        is_slow = any(page.query.kind == XPATH for page in pages)
        scan = LogScan(self._context.out, self._disk) if is_slow else self._scan
        scan.add_pages(PageSet(answering.is_own, partial(self._on_read, answering), pages))

    def _on_read(self, answering: Answering) -> None:
        """End the new pins of logs without a match, and answer when that is on disk."""
        ask, answering.has_ended = answering.ask, False
        for row, page in zip(ask.rows, answering.pages, strict=True):
            if isinstance(page, Page) and not (row.end or page.envelopes) and page.is_complete:
                pin = self._pins.find(answering.stream, row.subscription)
                if pin is not None and (pin.certificate, pin.last) == (ask.certificate, page.end):
                    self._pins.end(answering.stream, row.subscription)
                    answering.has_ended = True
        if answering.has_ended:
            self._disk.commit((), lambda error: self._answer(answering))
        else:
            self._answer(answering)

    def _answer(self, answering: Answering) -> None:
        pages = [
            ResumedPage(code=page)
            if isinstance(page, str)
            else ResumedPage(
                end=page.end, next=page.at, positions=page.positions, masters=self._further(answering, row)
            )
            for row, page in zip(answering.ask.rows, answering.pages, strict=True)
        ]
        found = [
            envelope for page in answering.pages if isinstance(page, Page) for envelope in page.envelopes
        ]
        answering.then((Resumed(pages=pages), found))

    def _further(self, answering: Answering, row: ResumeRow) -> list[bytes]:
        """Return the next hops for a query if another node asks for the first page."""
        is_first = not (row.end or answering.is_own)
        return self._demand.hops_of(row.query)[:FURTHER] if is_first else []


def pinned_range(at: int, following: int, first_owed: Callable[[int], int]) -> tuple[int, int]:
    """Return the first and last position of a new pin, if `following` is the next position of the log.

    It begins at the client's position `at`, that one included, or without one at `first_owed(last)`.
    """
    last = following - 1
    return at or first_owed(last), last
