"""Who is there? All nodes that we know, with no socket and no clock."""

# SWIM with suspicion, incarnations and Lifeguard's doubts about oneself. The rules stand where they act:
# what a node says itself in firsthand, what others say of it in hearsay, who is asked in detector, and what
# becomes of it in fates. For each node Joined comes first, then Restarted, Moved, Suspected and Trusted, then
# Dead, Left or Conflict, then Joined again.

from __future__ import annotations

from collections.abc import Callable

from discovery.detector import Detector
from discovery.fates import Fates, Results
from discovery.firsthand import Firsthand
from discovery.health import Health
from discovery.hearsay import HEARSAY, Hearsay
from discovery.member import (
    Conflict,
    Dead,
    Doubled,
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
    Trusted,
)
from discovery.news import News
from discovery.requests import DialProbe, DirectProbe, DiscoveryRequest, IndirectProbe, Inform, Lives, Spread
from discovery.table import CAPACITY, MemberRecord, MemberTable, fresh
from discovery.timers import Timers
from discovery.timing import SwimTiming

# What whoever holds a Membership needs to know comes from here.
__all__ = [
    "CAPACITY",
    "HEARSAY",
    "Conflict",
    "Dead",
    "DialProbe",
    "DirectProbe",
    "DiscoveryRequest",
    "Doubled",
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
    "SwimTiming",
    "Trusted",
]


class Membership:
    """All nodes that we know, ourselves included. Times are monotonic seconds, and never go back.

    Every method that is told something returns what happened and what is to be sent. `jitter` gives chance,
    in [0, 1).
    """

    def __init__(self, me: Node, jitter: Callable[[], float], timing: SwimTiming | None = None) -> None:
        timing = timing or SwimTiming()
        self._me = MemberRecord(me, "self", 0.0, 0.0, NodeLife.ALIVE, fresh(me.boot), me.boot)
        self._table = table = MemberTable(self._me, jitter)
        self._timers = timers = Timers()
        news, health = News(), Health()
        fates = Fates(table, news, timers, timing)
        self._hearsay = Hearsay(table, fates, news, health, timing)
        self._detector = Detector(table, fates, news, health, timers, timing, jitter)
        self._firsthand = Firsthand(table, fates, self._detector)

    # --- what a node says itself --------------------------------------------------------------------------

    def hear(self, node: Node, now: float) -> Results:
        """A node introduces itself: it is alive, unless this is old news, its name taken or no room."""
        if node.uuid == self._me.uuid:
            return []
        results = self._firsthand.hear(node, now)
        self._detector.wake(now)
        return results

    def heard(self, uuid: bytes, now: float) -> Results:
        """Any message came from it. Cheap: to be called for each."""
        return self._firsthand.heard(uuid, now)

    def leave(self, uuid: bytes, boot: int, now: float) -> Results:
        """A node says goodbye; it comes back only with a higher boot."""
        return [] if uuid == self._me.uuid else self._firsthand.leave(uuid, boot, now)

    # --- what others say ----------------------------------------------------------------------------------

    def sight(self, node: Node, via: str, now: float, teller: bytes = b"") -> Results:
        """Hear of a node, and not whether it lives; `via` is one of VIA, and `teller` the uuid of the node
        that tells us, if one does."""
        if node.uuid == self._me.uuid:
            return []
        return self._hearsay.sight(node, via, now, teller)

    def rumoured(
        self, by: bytes, rumours: tuple[Rumour, ...], now: float, is_answer: bool = False
    ) -> Results:
        """News of `by` that did not wait for a probe; or `is_answer`, for we asked whom it knows."""
        return self._said(by, rumours, now, is_answer)

    def probe(
        self, by: bytes, number: int, uuid: bytes, boot: int, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        """A probe by `by`: do we live, if that is us?"""
        results = self._said(by, rumours, now)
        lives = uuid == self._me.uuid and boot == self._me.boot
        return [*results, Lives(by, number, lives, self._detector.packet(by))]

    def probe_for(
        self, by: bytes, number: int, node: Node, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        """A question of `by`: can we reach that node?"""
        results = self._said(by, rumours, now)
        results += self.sight(node, "gossip", now, by)  # to be dialled, it must be known
        return results + self._detector.probe_for(by, number, node, now)

    def answered(
        self, by: bytes, number: int, lives: bool, rumours: tuple[Rumour, ...], now: float
    ) -> Results:
        """The answer of `by` to what we asked with that number."""
        results = self._detector.answered(by, number, lives)
        return self._said(by, rumours, now) + results

    def _said(self, by: bytes, rumours: tuple[Rumour, ...], now: float, is_answer: bool = False) -> Results:
        results = self._firsthand.spoke(by, now) if by != self._me.uuid else []
        if rumours:
            results += self._hearsay.believe(rumours, by, now, is_answer)
        if results:
            self._detector.wake(now)
        return results

    # --- what the transport says --------------------------------------------------------------------------

    def disconnected(self, uuid: bytes, now: float) -> Results:
        """Its control connection is gone, and nobody closed it on purpose."""
        record = self._living(uuid)
        return [] if record is None else self._detector.disconnected(record, now)

    def knocked(self, uuid: bytes, refused: bool, now: float) -> Results:
        """The outcome of a DialProbe. Only a refusal says something: silence may be any machine's fault."""
        record = self._living(uuid)
        return self._detector.refused(record, now) if refused and record is not None else []

    def _living(self, uuid: bytes) -> MemberRecord | None:
        record = self._table.records.get(uuid)
        return None if record is None or record is self._me or not record.is_living else record

    # --- time ---------------------------------------------------------------------------------------------

    def tick(self, now: float) -> Results:
        """Time has passed."""
        results = self._timers.tick(now)
        for result in list(results):
            if isinstance(result, Suspected | Dead):  # we are the first to say so: that shall not wait
                results += self._detector.tell_some(result.member.uuid)
        if results:
            self._detector.wake(now)
        return results

    def deadline(self) -> float:
        """When tick() is next worth calling; inf = time alone changes nothing."""
        return self._timers.deadline()

    def lagged(self, seconds: float) -> None:
        """Our own loop was late by so much: nobody else is to blame. To be called before reading on."""
        self._timers.lagged(seconds)

    # --- ourselves ----------------------------------------------------------------------------------------

    def readdressed(self, node: Node, now: float) -> Results:
        """We are the same process, to be found elsewhere: everybody shall know."""
        self._table.replace(self._me, node)
        self._hearsay.moved(node)
        return self._detector.tell_some(self._me.uuid)

    def goodbye(self) -> tuple[Rumour, ...]:
        """Our own end, to be sent to everybody."""
        return (self._me.rumour(NodeLife.LEFT, self._me.uuid),)

    # --- what is known ------------------------------------------------------------------------------------

    @property
    def me(self) -> Member:
        return self._me.member

    @property
    def count(self) -> int:
        """Nodes that count as alive, ourselves included."""
        return self._table.alive

    @property
    def old_news(self) -> int:
        """Words from an earlier boot than the last."""
        return self._firsthand.old_news

    @property
    def no_room(self) -> int:
        """Nodes for which the table was too full."""
        return self._firsthand.no_room + self._hearsay.no_room

    def alive(self) -> list[Member]:
        """Members that count as alive: ourselves, and suspects, too."""
        return [record.member for record in self._table.records.values() if record.is_living]

    def all(self) -> list[Member]:
        """All nodes of whatever state, ourselves included."""
        return [record.member for record in self._table.records.values()]

    def of(self, uuid: bytes) -> Member | None:
        record = self._table.records.get(uuid)
        return None if record is None else record.member

    def by_name(self, name: str) -> Member | None:
        """The one that counts as alive, else the one that was last heard, else one that was only seen."""
        named = self._table.named(name)
        best = max(named, key=lambda r: (r.is_living, r.state is not NodeLife.SEEN, r.heard), default=None)
        return None if best is None else best.member

    def known(self) -> tuple[Rumour, ...]:
        """All that count as alive, as rumours: what a newcomer among many should be told at once."""
        records = self._table.records.values()
        return tuple(record.rumour(record.state, record.accuser) for record in records if record.is_living)
