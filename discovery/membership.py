"""Membership of all known nodes, without sockets and clocks."""

# The protocol is SWIM with suspicion, incarnations and Lifeguard's local health. Each rule is written in the
# module that enforces it: direct_evidence, rumor_evidence, detector or member_transitions. The events of a
# node begin with Joined. Restarted, Moved, Suspected and SuspicionRefuted may follow, then Dead, Left or
# Conflict, then Joined again.

from __future__ import annotations

from collections.abc import Callable

from mesh.discovery.detector import Detector
from mesh.discovery.direct_evidence import DirectEvidence
from mesh.discovery.health import Health
from mesh.discovery.member import (
    Conflict,
    Dead,
    IdentityDuplicated,
    Joined,
    Left,
    Member,
    MemberEvent,
    Moved,
    NameClash,
    Node,
    NodeLife,
    Restarted,
    Rumour,
    Sighted,
    Suspected,
    SuspicionRefuted,
)
from mesh.discovery.member_transitions import MemberTransitions, Results
from mesh.discovery.requests import (
    DialProbe,
    DirectProbe,
    DiscoveryRequest,
    IndirectProbe,
    Inform,
    Lives,
    Spread,
)
from mesh.discovery.rumor_evidence import HEARSAY, RumorEvidence
from mesh.discovery.rumor_queue import RumorQueue
from mesh.discovery.table import CAPACITY, MemberRecord, MemberTable, fresh
from mesh.discovery.timers import Timers
from mesh.discovery.timing import SwimTiming

# Users of Membership import everything from this module.
__all__ = [
    "CAPACITY",
    "HEARSAY",
    "Conflict",
    "Dead",
    "DialProbe",
    "DirectProbe",
    "DiscoveryRequest",
    "IdentityDuplicated",
    "IndirectProbe",
    "Inform",
    "Joined",
    "Left",
    "Lives",
    "MemberEvent",
    "Membership",
    "Moved",
    "NameClash",
    "Restarted",
    "Sighted",
    "Spread",
    "Suspected",
    "SuspicionRefuted",
    "SwimTiming",
]


class Membership:
    """Membership of all known nodes, including this one, with times in monotonic seconds.

    Each method that processes input returns the events and the requests to send. `jitter` returns random
    numbers in [0, 1).
    """

    def __init__(self, me: Node, jitter: Callable[[], float], timing: SwimTiming | None = None) -> None:
        timing = timing or SwimTiming()
        self._me = MemberRecord(me, "self", 0.0, 0.0, NodeLife.ALIVE, fresh(me.boot), me.boot)
        self._table = table = MemberTable(self._me, jitter)
        self._timers = timers = Timers()
        news, health = RumorQueue(), Health()
        fates = MemberTransitions(table, news, timers, timing)
        self._hearsay = RumorEvidence(table, fates, news, health, timing)
        self._detector = Detector(table, fates, news, health, timers, timing, jitter)
        self._firsthand = DirectEvidence(table, fates, self._detector)

    # --- direct evidence ----------------------------------------------------------------------------------

    def on_introduction(self, node: Node, now: float) -> Results:
        """Process a node's introduction.

        The node counts as alive unless its boot is old or in conflict, its name is taken, or the table is
        full.
        """
        if node.uuid == self._me.uuid:
            return []
        results = self._firsthand.on_introduction(node, now)
        self._detector.schedule_probes(now)
        return results

    def on_message(self, uuid: bytes, now: float) -> Results:
        """Record a message from the node `uuid`, and end a suspicion of that node.

        The method is cheap enough to call for each message.
        """
        return self._firsthand.heard(uuid, now)

    def on_goodbye(self, uuid: bytes, boot: int, now: float) -> Results:
        """Process a node's goodbye.

        Unless it is in conflict, the node can return only with a higher boot.
        """
        return [] if uuid == self._me.uuid else self._firsthand.on_goodbye(uuid, boot, now)

    # --- reports of others --------------------------------------------------------------------------------

    def sight(self, node: Node, via: str, now: float, teller: bytes = b"") -> Results:
        """Record a node that is known to exist, but not to be alive.

        `via` is one of VIA. `teller` is the uuid of the node that reported it, if there is one.
        """
        if node.uuid == self._me.uuid:
            return []
        return self._hearsay.sight(node, via, now, teller)

    def rumoured(
        self, by: bytes, rumours: tuple[Rumour, ...], now: float, is_answer: bool = False
    ) -> Results:
        """Process rumors that `by` sent without a probe.

        `is_answer` means that they answer a request for all members, of which there are more than HEARSAY.
        """
        return self._said(by, rumours, now, is_answer)

    def probe(
        self, by: bytes, number: int, uuid: bytes, boot: int, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        """Answer a probe of `by`, which asks whether this node is the given process."""
        results = self._said(by, rumours, now)
        lives = uuid == self._me.uuid and boot == self._me.boot
        return [*results, Lives(by, number, lives, self._detector.packet(by))]

    def probe_for(
        self, by: bytes, number: int, node: Node, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        """Probe `node` on behalf of `by`, after processing the rumors from `by`."""
        results = self._said(by, rumours, now)
        results += self.sight(node, "gossip", now, by)  # a node must be known to be dialed
        return results + self._detector.probe_for(by, number, node, now)

    def answered(
        self, by: bytes, number: int, lives: bool, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        results = self._detector.answered(by, number, lives)
        return self._said(by, rumours, now) + results

    def _said(self, by: bytes, rumours: tuple[Rumour, ...], now: float, is_answer: bool = False) -> Results:
        results = self._firsthand.spoke(by, now) if by != self._me.uuid else []
        if rumours:
            results += self._hearsay.believe(rumours, by, now, is_answer)
        if results:
            self._detector.schedule_probes(now)
        return results

    # --- events of the transport ---------------------------------------------------------------------------

    def probe_disconnected(self, uuid: bytes, now: float) -> Results:
        """Probe a node whose control connection broke without being closed on purpose."""
        record = self._living(uuid)
        return [] if record is None else self._detector.probe_disconnected(record, now)

    def on_dial_probe(self, uuid: bytes, refused: bool, now: float) -> Results:
        """Process the outcome of a DialProbe.

        Only a refusal counts: silence can have many causes.
        """
        record = self._living(uuid)
        return self._detector.refused(record, now) if refused and record is not None else []

    def _living(self, uuid: bytes) -> MemberRecord | None:
        record = self._table.records.get(uuid)
        return None if record is None or record is self._me or not record.is_living else record

    # --- timers -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> Results:
        """Run the timers that are due, and announce new suspicions and deaths to a few nodes immediately."""
        results = self._timers.tick(now)
        for result in list(results):
            if isinstance(result, Suspected | Dead):  # sent to others immediately
                results += self._detector.tell_some(result.member.uuid)
        if results:
            self._detector.schedule_probes(now)
        return results

    def deadline(self) -> float:
        """Return the time in s when `tick` is next needed, or infinity if no timer is pending."""
        return self._timers.deadline()

    def postpone(self, seconds: float) -> None:
        """Postpone all timers by a delay of this node's own loop in s.

        Call before processing further input.
        """
        self._timers.postpone(seconds)

    # --- this node -----------------------------------------------------------------------------------------

    def set_addresses(self, node: Node, now: float) -> Results:
        """Change the addresses of this node, and announce them."""
        self._table.set_description(self._me, node)
        self._hearsay.moved(node)
        return self._detector.tell_some(self._me.uuid)

    def goodbye(self) -> tuple[Rumour, ...]:
        """Return the rumor of this node's own end, to be sent to all."""
        return (self._me.rumour(NodeLife.LEFT, self._me.uuid),)

    # --- queries ------------------------------------------------------------------------------------------

    @property
    def me(self) -> Member:
        return self._me.member

    @property
    def count(self) -> int:
        """The number of nodes that count as alive, including this one."""
        return self._table.alive

    @property
    def old_news(self) -> int:
        """The number of introductions and goodbyes of earlier boots, and of introductions after a goodbye."""
        return self._firsthand.old_news

    @property
    def no_room(self) -> int:
        """The number of introductions and reports dropped for lack of room, or beyond a reporter's limit."""
        return self._firsthand.no_room + self._hearsay.no_room

    def alive(self) -> list[Member]:
        """Return the members that count as alive, including this node and suspects."""
        return [record.member for record in self._table.records.values() if record.is_living]

    def all(self) -> list[Member]:
        return [record.member for record in self._table.records.values()]

    def is_outlived(self, uuid: bytes) -> bool:
        """Return whether the older process of a restarted node was certainly alive after the restart."""
        record = self._table.records.get(uuid)
        return record is not None and record.rivalry is not None and record.rivalry.is_sure

    def member_of(self, uuid: bytes) -> Member | None:
        record = self._table.records.get(uuid)
        return None if record is None else record.member

    def by_name(self, name: str) -> Member | None:
        """Return the member with this name, or None.

        Of several, living nodes take precedence, then nodes that are not only seen, then the latest contact.
        """
        named = self._table.records_named(name)
        best = max(named, key=lambda r: (r.is_living, r.state is not NodeLife.SEEN, r.heard), default=None)
        return None if best is None else best.member

    def known(self) -> tuple[Rumour, ...]:
        """Return all living nodes as rumors, which a newcomer in a large mesh receives immediately."""
        records = self._table.records.values()
        return tuple(record.rumour(record.state, record.accuser) for record in records if record.is_living)
