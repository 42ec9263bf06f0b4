"""Failure detector: probes nodes in turn, on behalf of other nodes, and after a lost connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from mesh.discovery.health import Health
from mesh.discovery.member import Node, NodeLife, Rumour
from mesh.discovery.member_transitions import MemberTransitions, Results
from mesh.discovery.requests import DialProbe, DirectProbe, IndirectProbe, Inform, Lives, Spread
from mesh.discovery.rumor_evidence import HEARSAY
from mesh.discovery.rumor_queue import FRESH, PACKET, RumorQueue
from mesh.discovery.table import MemberRecord, MemberTable
from mesh.discovery.timers import Timer, Timers, call_off
from mesh.discovery.timing import SwimTiming

ERRANDS = 1024  # open probes for others; further requests are ignored
# Fraction of the probe timeout after which a helper reports silence, so that its report arrives in time.
EARLY = 0.8
# Seconds between two packets of fresh rumors in a large mesh, where not every node talks to a newcomer.
AGAIN = 0.2
# Probe periods between two attempts to reach a dead node: a partition may have healed.
RECALL = 10


@dataclass(slots=True, eq=False)
class OpenProbe:
    """A probe that this node has sent and that is still unanswered."""

    record: MemberRecord
    boot: int
    asked: float
    helpers: set[bytes] = field(default_factory=set)  # asked, without an answer yet
    timer: Timer | None = None
    is_final: bool = False  # connection refused: dead unless a helper reaches it

    @property
    def is_void(self) -> bool:
        """Whether the node has restarted, or no longer counts as alive, since the probe was sent."""
        return not self.record.is_living or self.record.boot != self.boot


@dataclass(slots=True, eq=False)
class IndirectProbeJob:
    """A probe that this node sends on behalf of another node."""

    target: bytes
    asker: bytes
    number: int  # the requester's probe number
    timer: Timer | None = None


class Detector:
    """Probes other nodes, and starts to suspect a node that does not answer.

    A node whose machine refuses connections is declared dead unless it proves alive. `jitter` returns random
    numbers in [0, 1).
    """

    def __init__(
        self,
        table: MemberTable,
        fates: MemberTransitions,
        news: RumorQueue,
        health: Health,
        timers: Timers,
        timing: SwimTiming,
        jitter: Callable[[], float],
    ) -> None:
        self._table = table
        self._fates = fates
        self._news = news
        self._health = health
        self._timers = timers
        self._timing = timing
        self._jitter = jitter
        self._numbers = count(1)
        self._questions: dict[int, OpenProbe] = {}
        self._errands: dict[int, IndirectProbeJob] = {}
        self._lost: dict[bytes, int] = {}  # uuid: number of its final probe
        self._is_probing = False
        self._is_recalling = False
        self._is_spreading = False

    def schedule_probes(self, now: float) -> None:
        """Schedule probing, recalls and the spreading of rumors where needed."""
        if not self._is_probing and len(self._table.roster):
            self._is_probing = True
            self._timers.schedule(self._jitter() * self._timing.period, now, self._next)
        if not self._is_recalling and self._table.group(NodeLife.DEAD):
            self._is_recalling = True
            self._timers.schedule(RECALL * self._timing.period, now, self._recall)
        if not self._is_spreading and self._table.alive > HEARSAY and len(self._news):
            self._is_spreading = True
            self._timers.schedule(AGAIN, now, self._spread)

    def _spread(self, now: float) -> Results:
        rumours = self._news.next_batch(self._table.alive, sent=FRESH)
        self._is_spreading = bool(rumours)
        if not rumours:
            return []
        self._timers.schedule(AGAIN, now, self._spread)
        return [Spread(rumours)]

    def packet(self, to: bytes) -> tuple[Rumour, ...]:
        """Return the rumors for the next packet to the node `to`.

        An accusation of that node comes first, so that the node can deny it.
        """
        record = self._table.records.get(to)
        accusation = record.accusation if record is not None else None
        if accusation is None:
            return self._news.next_batch(self._table.alive)
        others = self._news.next_batch(self._table.alive, PACKET - 1)
        return (accusation, *(rumour for rumour in others if rumour.node.uuid != to))

    def tell_some(self, about: bytes) -> Results:
        """Send queued rumors immediately to a few nodes, which pass them on with their probes.

        In a small mesh, `about` is not among these nodes.
        """
        if self._table.alive > HEARSAY:  # a random pick would seldom be connected
            return [Spread(self._news.next_batch(self._table.alive))]
        some = self._table.roster.some(self._timing.indirect, about)
        return [Inform(to, self.packet(to)) for to in some]

    # --- our own probes -----------------------------------------------------------------------------------

    def _next(self, now: float) -> Results:
        uuid = self._table.roster.next_node()
        if uuid is None:
            self._is_probing = False
            return []
        self._timers.schedule(self._timing.period * self._health.patience, now, self._next)
        return [self._ask(self._table.records[uuid], now)]

    def _ask(self, record: MemberRecord, now: float) -> DirectProbe:
        number = next(self._numbers)
        question = self._questions[number] = OpenProbe(record, record.boot, now)
        wait = self._timing.timeout * self._health.patience
        question.timer = self._timers.schedule(wait, now, lambda now: self._ask_others(number, now))
        return DirectProbe(record.uuid, number, record.uuid, question.boot, self.packet(record.uuid))

    def _ask_others(self, number: int, now: float) -> Results:
        question = self._questions[number]
        if question.is_void:
            del self._questions[number]
            return []
        wait = (self._timing.period - self._timing.timeout) * self._health.patience
        question.timer = self._timers.schedule(wait, now, lambda now: self._unanswered(number, now))
        return self._send_for(number, question)

    def _send_for(self, number: int, question: OpenProbe) -> Results:
        node = question.record.node
        helpers = self._table.roster.some(self._timing.indirect, node.uuid)
        question.helpers = set(helpers)
        return [IndirectProbe(to, number, node, self.packet(to)) for to in helpers]

    def _unanswered(self, number: int, now: float) -> Results:
        question = self._questions.pop(number)
        record = question.record
        if question.is_void:
            return []
        if record.heard > question.asked:  # its answers are slow, but it still sends
            self._health.better()
            return []
        # A helper's negative answer proves that this node receives. Silent helpers suggest that this node is
        # the slow one.
        self._health.worse(len(question.helpers) if self._table.alive > 2 else 1)
        return self._fates.suspect(record, self._table.me.uuid, now)

    def answered(self, by: bytes, number: int, lives: bool) -> Results:
        """Process an answer to a probe that this node sent for itself or for another node.

        Answers without such a probe are ignored.
        """
        errand = self._errands.get(number)
        if errand is not None:
            return self._report(errand, number, True) if lives and by == errand.target else []
        question = self._questions.get(number)
        if question is None or not (by == question.record.uuid or by in question.helpers):
            return []
        if lives:
            self._health.better()
            self._settle(number)
        elif by != question.record.uuid:
            question.helpers.discard(by)
        return []

    def _settle(self, number: int) -> None:
        question = self._questions.pop(number)
        call_off(question.timer)
        if question.is_final:
            del self._lost[question.record.uuid]

    # --- probes for other nodes ---------------------------------------------------------------------------

    def probe_for(self, by: bytes, number: int, node: Node, now: float) -> Results:
        """Probe `node` for the node `by`, which cannot reach it, or answer immediately for this node itself.

        While ERRANDS such probes are open, the request is ignored.
        """
        if node.uuid == self._table.me.uuid:
            return [Lives(by, number, node.boot == self._table.me.boot, self.packet(by))]
        if len(self._errands) >= ERRANDS:
            return []
        mine = next(self._numbers)
        errand = self._errands[mine] = IndirectProbeJob(node.uuid, by, number)
        wait = EARLY * self._timing.timeout
        errand.timer = self._timers.schedule(wait, now, lambda now: self._report(errand, mine, False))
        return [DirectProbe(node.uuid, mine, node.uuid, node.boot, self.packet(node.uuid))]

    def _report(self, errand: IndirectProbeJob, number: int, lives: bool) -> Results:
        del self._errands[number]
        call_off(errand.timer)
        return [Lives(errand.asker, errand.number, lives, self.packet(errand.asker))]

    # --- immediate probes ---------------------------------------------------------------------------------

    def probe_disconnected(self, record: MemberRecord, now: float) -> Results:
        """Probe a node, unless a probe is open, after its connection broke: its process may have ended.

        If the node has an address, also test whether its machine refuses a connection.
        """
        is_asked = any(question.record is record for question in self._questions.values())
        asks: Results = [] if is_asked else [self._ask(record, now)]
        return [*asks, DialProbe(record.node)] if record.node.address else asks

    def refused(self, record: MemberRecord, now: float) -> Results:
        """Start the final probe of a node whose machine refused the connection.

        The node is declared dead unless a helper reaches it, or it sends something, within two probe
        timeouts.
        """
        if record.uuid in self._lost:
            return []
        number = self._lost[record.uuid] = next(self._numbers)
        question = OpenProbe(record, record.boot, now, is_final=True)
        self._questions[number] = question
        # No extra patience for this node's own slowness: the other machine refused the connection.
        wait = 2 * self._timing.timeout
        question.timer = self._timers.schedule(wait, now, lambda now: self._gone(number, now))
        return self._send_for(number, question)

    def spoke(self, record: MemberRecord) -> None:
        """Cancel the final probe, if any, of a node that has just sent something."""
        number = self._lost.get(record.uuid)
        if number is not None:
            self._settle(number)

    def _gone(self, number: int, now: float) -> Results:
        question = self._questions[number]
        self._settle(number)
        return [] if question.is_void else self._fates.die(question.record, self._table.me.uuid, now)

    def _recall(self, now: float) -> Results:
        record = self._table.any_dead(self._jitter())
        self._is_recalling = record is not None
        if record is None:
            return []
        self._timers.schedule(RECALL * self._timing.period, now, self._recall)
        number = next(self._numbers)  # an unanswered recall has no effect
        return [DirectProbe(record.uuid, number, record.uuid, record.boot, self.packet(record.uuid))]
