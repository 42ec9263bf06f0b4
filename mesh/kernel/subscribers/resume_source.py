"""The log of this node for sessions that moved: pinned for each subscription, and read page by page."""

# Law 1: the first question pins the log from the client's position to the last one. The answer follows when
#        the pin is on disk.
# Law 2: a newer visit replaces the pin of an earlier one. An outdated question is refused.
# Law 3: a pin ends when nothing matches, or KEPT seconds after the last question; see also ResumePins.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from mesh.errors import LocalError, MeshError
from mesh.kernel.context.component import Beginning, Component
from mesh.kernel.context.disk import Disk
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.incoming_call import IncomingCall, Verb, answer
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.peers.peer import Peer
from mesh.kernel.subscribers.certificates import check_certificate
from mesh.kernel.subscribers.facts import SubscriptionsKnown
from mesh.kernel.subscribers.resume_pins import Pin, ResumePins
from mesh.kernel.subscribers.sessions import Sessions
from mesh.operations import Span
from mesh.routing.querytrie import wants
from mesh.routing.subscriptions import check_query
from mesh.values import check_domain
from mesh.wire.calls import AskResume
from mesh.wire.commands import Query
from mesh.wire.envelope import LOCAL_ONLY, TAILED, Envelope
from mesh.wire.frames import body_frames
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MIB, VISITS
from mesh.wire.replies import Resumed

KEPT = 3600.0  # s after which an unused pin ends
PINS = 100_000  # pinned subscriptions
PAGE = ENVELOPES_A_MESSAGE  # envelopes of one read, and of one reply
READS = 16  # reads for one reply

Page = tuple[Resumed, list[Envelope]]
OnPage = Callable[[Page | LocalError], None]


@dataclass(slots=True)
class Reading:
    """A page for the node `node` that is being read: the matches up to the position `end`."""

    ask: AskResume
    node: bytes
    end: int
    then: OnPage
    reads: int = READS
    envelopes: list[Envelope] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    frames: int = 0
    size: int = 0

    def add(self, position: int, envelope: Envelope) -> bool:
        """Add an envelope, or return False if the page is full."""
        self.frames += 1 + body_frames(envelope)
        self.size += len(envelope.body)
        if self.envelopes and (self.frames > 2 * ENVELOPES_A_MESSAGE or self.size > MIB):
            return False
        self.envelopes.append(envelope)
        self.positions.append(position)
        return True


class ResumeSource(Component):
    """Component that answers `resume`: what this node's log has for a subscription that moved."""

    def __init__(
        self, context: NodeContext, disk: Disk, peers: dict[bytes, Peer], sessions: Sessions
    ) -> None:
        self._context = context
        self._disk = disk
        self._peers = peers
        self._sessions = sessions
        self._pins = ResumePins(disk)

    def features(self) -> Sequence[str]:
        return (VISITS,)

    def peer_verbs(self) -> Sequence[Verb]:
        return (answer(AskResume, self._on_resume),)

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

    def _on_resume(self, asked: IncomingCall[AskResume]) -> None:
        ask, uuid = asked.ask, asked.who.node.uuid

        def send(page: Page | LocalError) -> None:
            if isinstance(page, LocalError):
                asked.fail(page)
            else:
                asked.reply(*page)

        self.resume(ask, uuid, send)

    def resume(self, ask: AskResume, node: bytes, then: OnPage) -> None:
        """Answer a question of the node with this id, which may be this node. Raises: LocalError."""
        self._check(ask, node)
        if not ask.end:
            self._begin(ask, node, then)
            return
        place = ask.certificate.stream, ask.subscription
        pin = self._pins.find(*place)
        if pin is None or (pin.certificate, pin.last) != (ask.certificate, ask.end):
            raise LocalError("The pinned part of the log is no longer known here.", code="UNKNOWN_PIN")
        pin.used = self._context.clock.now
        if ask.done >= pin.first:
            self._pins.settle(pin, ask.done)
        if self._pins.find(*place) is not None:
            self._read(Reading(ask, node, pin.last, then), max(ask.at, pin.first))
        else:
            self._when_ended(pin.last, then)

    def _check(self, ask: AskResume, node: bytes) -> None:
        check_query(ask.query)
        check_domain(ask.query.domain)
        check_certificate(self._context, ask.certificate, node)

    # --- pins -------------------------------------------------------------------------------------------

    def _begin(self, ask: AskResume, node: bytes, then: OnPage) -> None:
        """Pin the log from the client's position to the last one, and return the first page."""
        stream = ask.certificate.stream
        first, last = pinned_range(ask.at, self._disk.shelf.next_position, partial(self._first_owed, ask))
        if first > last or not self._disk.shelf.live:
            self._pins.end(stream, ask.subscription)
            then((Resumed(end=last, next=last + 1), []))
            return
        if self._pins.find(stream, ask.subscription) is None and len(self._pins) >= PINS:
            raise LocalError(f"{self._context.me.name} has {PINS:,} pinned subscriptions.", code="TOO_MANY")
        row = self._pins.add_pin(Pin(ask.certificate, ask.subscription, first, last, self._context.clock.now))

        def stored(error: MeshError | None) -> None:
            if isinstance(error, LocalError):
                then(error)
            elif error is None:
                self._read(Reading(ask, node, last, then), first)

        self._disk.commit((row,), stored)

    def _first_owed(self, ask: AskResume, last: int) -> int:
        """Return the first position that a former node is owed for the query, or `last` + 1.

        An earlier visit may have released a former node that had sent nothing yet. Then its pin counts.
        """
        pin = self._pins.find(ask.certificate.stream, ask.subscription)
        found = [pin.first if pin is not None else last + 1, last + 1]
        for uuid in ask.former:
            if uuid == self._context.me.uuid:
                session = self._sessions.by_stream.get(ask.certificate.stream)
                feed = session.feeds.get(ask.subscription) if session is not None else None
            else:
                peer = self._peers.get(uuid)
                feed = peer.begun.feed if peer is not None and peer.begun is not None else None
            if feed is not None and ask.query in feed.queries:
                found.append(max(feed.queries[ask.query], 1))
        return min(found)

    # --- pages ------------------------------------------------------------------------------------------

    def _read(self, page: Reading, at: int) -> None:
        """Read the log from `at`, until the page is full, or READS times."""
        if at > page.end:
            self._send(page, page.end + 1)
        else:
            self._disk.fetch(Span(at, page.end, PAGE), partial(self._on_read, page))

    def _on_read(self, page: Reading, found: dict[int, Envelope] | MeshError) -> None:
        if isinstance(found, MeshError):
            return  # the store has failed, and the node stops
        is_own = page.node == self._context.me.uuid
        for position, envelope in found.items():
            part = matching(envelope, page.ask.query, is_own)
            if part is not None and not page.add(position, part):
                self._send(page, position)
                return
        page.reads -= 1
        following = page.end + 1 if len(found) < PAGE else max(found) + 1
        if page.reads:
            self._read(page, following)
        else:
            self._send(page, following)

    def _send(self, page: Reading, following: int) -> None:
        """Send a page; the next one begins at the position `following`."""
        if not page.envelopes and not page.ask.end and following > page.end:
            self._pins.end(page.ask.certificate.stream, page.ask.subscription)
            self._when_ended(page.end, page.then)
            return
        me = self._context.me
        sources = [(me.name, None, me.uuid)] * len(page.envelopes)
        value = Resumed(end=page.end, next=following, positions=page.positions, sources=list(sources))
        page.then((value, page.envelopes))

    def _when_ended(self, end: int, then: OnPage) -> None:
        """Report that nothing is left, when the end of the pin is on disk."""
        self._disk.commit((), lambda error: then((Resumed(end=end, next=end + 1), [])))


def pinned_range(at: int, following: int, first_owed: Callable[[int], int]) -> tuple[int, int]:
    """Return the first and last position of a new pin, if `following` is the next position of the log.

    It begins at the client's position `at`, that one included, or without one at `first_owed(last)`.
    """
    last = following - 1
    return at or first_owed(last), last


def matching(envelope: Envelope, query: Query, is_own: bool) -> Envelope | None:
    """Return the messages of a stored envelope that match, or `None`. `is_own`: they stay at their master."""
    is_kept = envelope.flags & TAILED or (envelope.flags & LOCAL_ONLY and not is_own)
    if envelope.to or is_kept:
        return None
    rows = [wants(query, key, envelope.domain, envelope.xml) for key in envelope.keys]
    if all(rows):
        return envelope
    indices = [i for i, row in enumerate(envelope.rows()) if rows[row]]
    return envelope.cut(indices) if indices else None
