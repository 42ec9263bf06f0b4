"""Requests from sessions of other sites to addresses here or in a third site, and their answers.

To services, a session of another site is a client of this gateway. The gateway remembers the session while
the session has open messages. Requests are assigned as if a client here had sent them.

The messages of a session can come through several gateways of its site. Each gateway waits for the answers to
the messages that it has sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from mesh.errors import LocalError, MessageTooLarge, PublishRefused, RemoteError
from mesh.features.sites.node.aliases import Aliases
from mesh.features.sites.node.arrivals import NeighbourSite, origin, unfit_to_ask
from mesh.features.sites.node.facts import GateChanged
from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.site_connection import SiteConnection
from mesh.hops import is_foreign
from mesh.kernel.context.component import Component, HandlerEntry, on_command
from mesh.kernel.context.conn import Conn
from mesh.kernel.context.facts import Hearing, on_fact
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.seams import Guest, GuestRequests
from mesh.names import OTHERS, SENDS, check_address
from mesh.patterns import SYSTEM
from mesh.printable import count
from mesh.remote_names import split
from mesh.streams.ranges import numbers_within
from mesh.wire.commands import Answer, Outcome, Respond, Sends, Sent
from mesh.wire.content_limit import short_parts
from mesh.wire.envelope import Envelope, runs
from mesh.wire.envelope_batches import TimedEnvelopes, batches
from mesh.wire.frames import body_frames
from mesh.wire.limits import MIB
from mesh.wire.properties import check_properties

OPEN, OPEN_BYTES = 10_000, 16 * MIB  # unanswered per site
OUTCOMES = 256  # in one message

# Rule 1: a message that may not enter is refused, and nothing else is done with it.
# Rule 2: the open messages of one site are bounded, and nothing is kept that will not be answered.
# Rule 3: the answer to a message, and its replies, use the connection that brought the message.


@dataclass(slots=True)
class SiteVisit:
    """A session of another site with open messages.

    `conns` has the connection that brought each message. An answered message stays in it for at most 1 s.
    """

    site: str
    stream: bytes  # its name at the other site
    guest: Guest
    conns: dict[int, Conn] = field(default_factory=dict)  # by number


class RemoteSessions(Component):
    """Component that serves requests of other sites."""

    def __init__(self, context: NodeContext, gateways: Gateways, aliases: Aliases) -> None:
        self._context = context
        self._gateways = gateways
        self._aliases = aliases
        self._visits: dict[bytes, SiteVisit] = {}  # by alias of the stream
        self._load: dict[str, tuple[int, int]] = {}  # open messages and bytes by site, upper bounds
        self._outcomes: dict[Conn, list[Outcome]] = {}
        self._replies: dict[Conn, TimedEnvelopes] = {}

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(GateChanged, lambda fact: self._on_gate_changed(fact.site) if fact.is_less else None),
        )

    def from_gateways(self) -> Sequence[HandlerEntry]:
        return (on_command(Sends, self._on_sends),)

    @property
    def _requests(self) -> GuestRequests:
        return self._context.face.guest_requests[SENDS]

    # --- received requests ------------------------------------------------------------------------------

    def _on_sends(self, conn: Conn, gate: SiteConnection, command: Sends, envelopes: list[Envelope]) -> None:
        ttls = command.ttls or (0,) * len(envelopes)
        if len(ttls) != len(envelopes):
            raise RemoteError(
                f"the message has {count(len(envelopes), 'envelope')}, but {count(len(ttls), 'time limit')}",
                code="MALFORMED",
            )
        for e, ttl in zip(envelopes, ttls, strict=True):
            try:
                self._check(gate, e)
            except LocalError as error:
                self._refuse(conn, e, error)
                continue
            visit = self._visit(gate.name, e)
            for part in short_parts(e, self._context.settings.max_content, partial(self._too_long, conn)):
                messages, size = self._load.get(gate.name, (0, 0))
                self._load[gate.name] = messages + part.count, size + len(part.body)
                visit.conns.update(dict.fromkeys(range(part.first, part.last + 1), conn))
                site, address = split(part.to)
                to = (
                    address if site == self._context.settings.site.name else part.to
                )  # otherwise it passes through
                self._requests.receive(visit.guest, replace(part, stream=visit.guest.stream, to=to), ttl)

    def _check(self, gate: SiteConnection, e: Envelope) -> None:
        s, (to, address) = self._context.settings.site, split(e.to)
        came = NeighbourSite(gate.name, self._context.me.name, s.accepting, s.ways)
        error = unfit_to_ask(e, came, s.name, to)
        if error is not None:
            raise error
        check_address(address)
        is_own = e.domain != SENDS or any(key.startswith(SYSTEM) for key in e.keys)
        first = origin(e)
        if is_own or (to == s.name and not s.accepting[first].may_ask(address)):
            raise came.no_right(f"send to {address[:80]!r}", "serves", first, s.name)
        messages, size = self._load.get(gate.name, (0, 0))
        messages, size = messages + e.count, size + len(e.body)
        if messages > OPEN or size > OPEN_BYTES:
            me = self._context.me.name
            what = (
                f"{me} would have {count(messages, 'unanswered message')} of {size:,} bytes "
                f"from the site {gate.name}; the limits are {OPEN:,} messages and {OPEN_BYTES:,} bytes."
            )
            hint = "Send more slowly, and long contents in parts."
            raise PublishRefused(what, hint=hint, code="TOO_MANY_REQUESTS")
        if e.props:
            check_properties(e)

    def _visit(self, site: str, e: Envelope) -> SiteVisit:
        alias = self._aliases.here(site, e.stream)
        visit = self._visits.get(alias)
        if visit is None:
            guest = Guest(alias, e.sender, partial(self._answer_visit, alias), partial(self._reply, alias))
            visit = self._visits[alias] = SiteVisit(site, e.stream, guest)
        return visit

    def _too_long(self, conn: Conn, part: Envelope) -> None:
        settings = self._context.settings
        most = f"{self._context.me.name} accepts at most {settings.max_content:,} bytes per message"
        hint = f"Raise `limits.max_content` at {settings.site.name}, or send the content in parts."
        self._refuse(conn, part, MessageTooLarge(f"The message is too large: {most}.", hint=hint))

    def _refuse(self, conn: Conn, e: Envelope, error: LocalError) -> None:
        self._context.counters.add_count("refused", e.count)
        self._add_outcome(
            conn, Outcome(e.stream, Answer(SENDS, e.first, e.last, error.code, text=str(error)))
        )

    # --- answers and replies ----------------------------------------------------------------------------

    def _answer_visit(self, alias: bytes, answer: Answer) -> None:
        visit = self._visits[alias]
        by_conn: dict[Conn, list[int]] = {}
        for n in sorted(numbers_within(visit.conns, answer.first, answer.last)):
            by_conn.setdefault(visit.conns[n], []).append(n)
        for conn, numbers in by_conn.items():
            for first, last in runs(numbers):
                self._add_outcome(conn, Outcome(visit.stream, replace(answer, first=first, last=last)))

    def _add_outcome(self, conn: Conn, outcome: Outcome) -> None:
        self._outcomes.setdefault(conn, []).append(outcome)
        self._context.out.ending[self._flush] = None

    def _reply(self, alias: bytes, e: Envelope) -> None:
        """Queue replies to a session of another site, and add this site to the name of a local sender."""
        visit = self._visits[alias]
        is_ours = e.sender and not is_foreign(e.sender)
        sender = f"{OTHERS}{self._context.settings.site.name}{e.sender}" if is_ours else e.sender
        reply = replace(e, stream=visit.stream, sender=sender)
        by_conn: dict[Conn, list[int]] = {}
        for place, n in enumerate(e.number_list(range(e.count))):
            if (conn := visit.conns.get(n)) is not None:
                by_conn.setdefault(conn, []).append(place)
        for conn, places in by_conn.items():
            self._replies.setdefault(conn, []).append((reply.cut(places), 0))
        self._context.out.ending[self._flush] = None

    def _flush(self) -> None:
        said, self._outcomes = self._outcomes, {}
        for conn, outcomes in said.items():
            for at in range(0, len(outcomes), OUTCOMES):
                self._context.out.send(conn, Sent(tuple(outcomes[at : at + OUTCOMES])))
        replied, self._replies = self._replies, {}
        for conn, replies in replied.items():
            for batch in batches(replies):
                whole = [envelope for envelope, _ in batch]
                self._context.out.send(conn, Respond(tuple(map(body_frames, whole))), whole)

    # --- changes ----------------------------------------------------------------------------------------

    def _on_gate_changed(self, site: str) -> None:
        """Forget the messages of lost connections; the site of the senders reports the loss to them."""
        gate = self._gateways.gate(site)
        conns = set(gate.conns()) if gate is not None else set()
        for alias, visit in list(self._visits.items()):
            if visit.site == site:
                visit.conns = {n: conn for n, conn in visit.conns.items() if conn in conns}
                self._leave_if_idle(alias)

    def _leave_if_idle(self, alias: bytes) -> None:
        """Forget the visit if none of its connections waits for an answer or reply."""
        if not self._visits[alias].conns:
            self._requests.forget_guest(self._visits.pop(alias).guest)

    def on_second(self) -> None:
        """Forget answered messages, and visits that wait for nothing, and recount the load."""
        self._load.clear()
        for alias, visit in list(self._visits.items()):
            numbers, size = self._requests.open_of(visit.guest)
            visit.conns = {n: conn for n, conn in visit.conns.items() if n in numbers}
            self._leave_if_idle(alias)
            if visit.conns:
                total, bytes_ = self._load.get(visit.site, (0, 0))
                self._load[visit.site] = total + len(numbers), bytes_ + size
