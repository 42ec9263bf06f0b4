"""Observes what a node accepts, stores and believes, without side effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from mesh.discovery.member import Conflict, Dead, Joined, Left, Restarted, Suspected, SuspicionRefuted
from mesh.errors import MeshError
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.node.sitefeed import SiteFeed
from mesh.hops import is_foreign, site_of
from mesh.kernel.context.component import Component
from mesh.kernel.context.facts import Hearing, ProtocolBroken, on_fact
from mesh.kernel.delivery.facts import EnvelopeAccepted
from mesh.kernel.feature import FeatureParts
from mesh.kernel.node import NodeCore
from mesh.kernel.parts import Parts
from mesh.kernel.peers.facts import Lived, ViewChanged
from mesh.names import PUTS
from mesh.operations import Append, Op, Put
from mesh.routing.feed import Feed
from mesh.routing.retained_value import RetainedValue
from mesh.routing.sink import Targets
from mesh.store.base import Store
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges
from mesh.values import parse_message_id
from mesh.wire.commands import Query
from mesh.wire.envelope import ERASED, INITIAL, TAILED, Envelope, decode
from mesh.wire.properties import decode_properties
from tools.simulator.history import MOVING, Event, History
from tools.simulator.world import choices, committed, ruled, sessions, sharing
from tools.simulator.world.network import Network
from tools.simulator.world.queueing import QueueWatch
from tools.simulator.world.volume import Disk

UNFINISHED = ("pending", "stored_envelopes", "tailed_back", "malformed", "forged", "commits_under_way")
EVERYTHING = Query("pattern", "#")
WORDS = {
    Joined: "alive",
    Restarted: "alive",
    SuspicionRefuted: "trusted",
    Suspected: "suspect",
    Dead: "dead",
    Left: "left",
    Conflict: "conflict",
}
# The names in the history of counters of a node.
COUNTERS = {
    "repeated": "resend deduplicated",
    "expired": "message expired",
    "dead": "dead letter",
    "relayed": "relayed",
    "forwarded": "forwarded",
    "hello_refused": "hello refused",
    "adverts": "advert heard",
}


class Watched(Protocol):
    """A node as its observer uses it."""

    core: NodeCore

    @property
    def net(self) -> Network[Any]: ...

    @property
    def label(self) -> str: ...

    @property
    def disk(self) -> Disk: ...

    @property
    def store(self) -> Store: ...

    @property
    def alive(self) -> set[str]: ...

    def tell(self, kind: str, text: str = "") -> None: ...


class Observer(Component):
    """Observer of one node across all of its processes, as a component in each of its cores."""

    def __init__(self, node: Watched, history: History) -> None:
        self._node = node
        self._history = history
        self._known: dict[tuple[bytes, str], Ranges] = {}  # numbers whose stream state is on its disk
        self._most: Counter[str] = Counter()

    def enters(self, parts: Parts) -> FeatureParts:
        """Join a new core, as a feature whose component is the observer."""
        parts.context.facts.watched = True
        choices.watch(parts, self._sends)
        sessions.watch(parts, self._tell)
        for out in parts[SiteParts].outbound.by_name.values():
            self._watch(out.feed)
        ruled.watch(parts, self._tell)
        self.queues = QueueWatch(parts, self._tell)
        return FeatureParts(self, sharing.SpaceWatch(self._tell))

    def _sends(self, kind: str, e: Envelope, other: str, boot: int) -> None:
        for number in e.number_list(range(e.count)):
            what: Any = {"stream": e.stream.hex(), "domain": e.domain, "first": number, "text": other}
            self._tell(kind, to=e.to, stamp=boot, **what)

    def _watch(self, feed: SiteFeed) -> None:
        """Record the messages that a site feed drops, except expired ones."""
        lost = feed._lost

        def drops(e: Envelope, why: str, messages: int) -> None:
            lost(e, why, messages)
            if why != "EXPIRED":
                self._add(replace(self._of("unrelayed", e), to=feed.site, gap=messages))

        feed._lost = drops

    def fact_handlers(self) -> Sequence[Hearing]:
        return (
            on_fact(EnvelopeAccepted, self._accepts),
            on_fact(ViewChanged, lambda fact: self._sees(fact.event)),
            on_fact(ProtocolBroken, self._hangs_up),
            *self.queues.hears(),
        )

    def _accepts(self, fact: EnvelopeAccepted) -> None:
        for e, _ in fact.pieces:
            if not e.persistent:
                self._buries(e)
        event, e = self._of("accept", fact.pieces[0][0]), fact.pieces[0][0]
        if e.flags & INITIAL and is_foreign(e.sender):  # in a stream without publishers
            event = replace(event, flags=f"{event.flags}i", text=site_of(e.sender, ""))
        self._add(replace(event, route=_takers(fact.pieces)))

    def _hangs_up(self, fact: ProtocolBroken) -> None:
        if fact.who is not None:
            self._tell("hung up", to=f"/node/{fact.who.name}", text=fact.code)

    def leaves(self, kind: str, text: str = "") -> None:
        """Record the end of the process, with the gaps that it has not reported."""
        self._count()
        self._untold()
        self._node.tell(kind, text)

    def _count(self) -> None:
        counters = self._node.core.parts.context.counters.values
        for name, what in COUNTERS.items():
            self._history.met(what, counters.get(name, 0))

    def _untold(self) -> None:
        core = self._node.core
        for session in core.parts.clients.sessions.values():
            for number, feed in session.feeds.items():
                if gap := untold(feed):
                    self._tell("untold", to=session.text, sub=number, gap=gap)
        for peer in core.parts.neighbours.peers.values():
            if (begun := peer.begun) and (gap := untold(begun.feed) + sum(begun.outlet.passed_on.values())):
                self._tell("untold", to=peer.node.name, gap=gap)

    def untold_yet(self) -> set[str]:
        peers = self._node.core.parts.neighbours.peers.values()
        return {p.node.name for p in peers if p.begun and (untold(p.begun.feed) or p.begun.outlet.passed_on)}

    def relayed_to(self) -> set[str]:
        """Return the nodes that receive messages of other masters from this one."""
        peers = self._node.core.parts.neighbours.peers.values()
        return {peer.node.name for peer in peers if peer.begun and peer.begun.relayed}

    # --- its disk -------------------------------------------------------------------------------------------

    def durable(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if isinstance(op, Append):
                envelope = decode(op.header, op.body)
                self._add(self._of("tail" if envelope.flags & TAILED else "log", envelope))
                self._buries(envelope)
            elif isinstance(op, Put) and op.table == "retained":
                self._buries(RetainedValue.unpack(op.value).as_envelope())
            elif isinstance(op, Put) and op.table == "stream":
                self._knows(op.key, OriginStream.unpack(op.value))
            committed.note_outcome(op, self._tell)

    def _buries(self, e: Envelope) -> None:
        """Record each dead letter at the node that finally stores it."""
        for i in range(e.count if e.props else 0):
            try:
                headers = decode_properties(e.message(i)[0]).headers
            except MeshError:
                continue
            if name := headers.get("dead-id"):
                stream, domain, number = parse_message_id(name)
                to = headers.get("dead-to", "")
                domain = to if to.startswith(PUTS) else domain
                text = headers.get("dead-code", "")
                what: Any = {"domain": domain, "first": number, "text": text, "to": e.to}
                self._tell("buried", stream=stream.hex(), **what)

    def _knows(self, key: bytes, stream: OriginStream) -> None:
        known = self._known.setdefault((key[:16], key[16:].decode()), Ranges())
        for a, b in stream.above:
            for first, last in known.missing(a, b):
                known.add(first, last)
                name, domain = key[:16].hex(), key[16:].decode()
                self._tell("known", stream=name, domain=domain, first=first, last=last)

    # --- the others -----------------------------------------------------------------------------------------

    def _sees(self, event: Lived) -> None:
        if word := WORDS.get(type(event)):
            m = event.member
            if word == "trusted":
                self._history.met("refuted suspicion")
            self._tell("view", text=word, to=m.name, first=m.boot, last=m.incarnation, stream=m.uuid.hex())

    # --- samples --------------------------------------------------------------------------------------------

    def sample(self) -> None:
        """Record the backlogs that are larger than in any sample before, and wrong figures of queues."""
        core = self._node.core
        feeds: list[Feed] = [*core.parts.neighbours.feeds(), *core.parts.inboxes.feeds()]
        feeds += [f for s in core.parts.clients.sessions.values() for f in s.feeds.values()]
        self._told("feed", max((feed.waiting_bytes for feed in feeds), default=0))
        entries = core.parts.forwarder.onward.entries()
        self._told("tail-back", sum(e.messages for e in entries if e.warned and e.origin.is_local))
        self.queues.sample()
        sessions.sample(core.parts, self._tell)

    def _told(self, what: str, amount: int) -> None:
        if amount > self._most[what]:
            self._most[what] = amount
            self._tell("sample", text=what, stamp=amount)

    def end(self) -> None:
        """Record the figures of unfinished work at the end of the run."""
        core = self._node.core
        self._count()
        figures = core.parts.context.figures()
        for name in (*UNFINISHED, *MOVING):
            self._tell("end", text=name, stamp=int(figures[name]))
        self._tell("end", text="on disk", stamp=len(list(self._node.store.load().envelopes)))
        for peer in core.parts.neighbours.peers.values():
            if peer.begun and peer.begun.feed.is_owed:
                self._tell("owed", to=peer.node.name)
        self._tell("end", text="alive", keys=tuple(sorted(self._node.alive)))
        sessions.end(core.parts, self._tell)
        self.values()

    def values(self) -> None:
        """Record the retained values, except those of the mesh itself, after a start and in the end."""
        values = self._node.core.parts.router.log.retained.find_values(EVERYTHING, 0)
        for last in sorted(values, key=lambda last: (last.envelope.domain, last.key)):
            if not last.key.startswith("__sys__"):
                self._add(self._of("value", last.as_envelope()))
        self._tell("values")

    def _of(self, kind: str, e: Envelope) -> Event:
        marks = (("p", e.persistent), ("e", e.flags & ERASED), ("t", e.flags & TAILED))
        flags = "".join(letter for letter, is_so in marks if is_so)
        return self._event(
            kind,
            stream=e.stream.hex(),
            domain=e.domain,
            first=e.first,
            last=e.last,
            flags=flags,
            to=e.to,
            keys=tuple(e.keys[row] for row in e.rows()),
            stamp=e.sent,
        )

    def _event(self, kind: str, **what: Any) -> Event:
        return replace(Event(self._node.net.now, kind, self._node.label, self._node.disk.boot), **what)

    def _tell(self, kind: str, **what: Any) -> None:
        self._add(self._event(kind, **what))

    def _add(self, event: Event) -> None:
        self._history.add(event)


def untold(feed: Feed) -> int:
    """Return the number of dropped messages that were not reported."""
    return feed.gap + feed._backlog.gap


def _takers(pieces: Sequence[tuple[Envelope, Targets]]) -> tuple[str, ...]:
    """Return the peers for which a master accepts a message.

    A peer is written as name, or as name:index,index… if it receives only some of the messages.
    """
    found = []
    for _, targets in pieces:
        for feed, indices in targets:
            if feed.owner:
                found.append(feed.owner + ("" if indices is None else ":" + ",".join(map(str, indices))))
    return tuple(sorted(found))
