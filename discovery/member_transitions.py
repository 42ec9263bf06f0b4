"""Transitions of node states, and the rumors and events that follow from them."""

from __future__ import annotations

from mesh.discovery.member import (
    Conflict,
    Dead,
    Joined,
    Left,
    MemberEvent,
    Moved,
    Node,
    NodeLife,
    Restarted,
    Sighted,
    Suspected,
    SuspicionRefuted,
)
from mesh.discovery.requests import DiscoveryRequest
from mesh.discovery.rivalry import SILENCE, Rivalry
from mesh.discovery.rumor_queue import RumorQueue
from mesh.discovery.suspicion import Suspicion
from mesh.discovery.table import MemberRecord, MemberTable, farewell, weigh
from mesh.discovery.timers import Timers, call_off
from mesh.discovery.timing import SwimTiming

Results = list[MemberEvent | DiscoveryRequest]

SWEEP = 10.0  # s between two removals of outdated records


class MemberTransitions:
    """Makes every change of a node's state, and updates the table, the rumors and the timers with it."""

    def __init__(self, table: MemberTable, news: RumorQueue, timers: Timers, timing: SwimTiming) -> None:
        self._table = table
        self._news = news
        self._timers = timers
        self._timing = timing
        self._is_sweeping = False

    # --- nodes that do not count as alive -----------------------------------------------------------------

    def stranger(self, node: Node, via: str, now: float, teller: bytes = b"") -> MemberRecord:
        """Add a record of an unknown node, and return it.

        `teller` is the uuid of the node that reported it, or empty if there is other evidence of it.
        """
        record = MemberRecord(node, via, now, now, teller=teller)
        self._table.add(record)
        self._sweep_later(now)
        return record

    def sighted(self, record: MemberRecord, node: Node, now: float, is_back: bool = False) -> Results:
        """Update a node that is not alive.

        With `is_back`, a node that was gone appears to be running again, and becomes seen.
        """
        self._table.set_description(record, node)
        if is_back:
            record.heard = now
            self._table.set_state(record, NodeLife.SEEN, now)
        return [Sighted(record.member)]

    # --- nodes that count as alive ------------------------------------------------------------------------

    def join(self, record: MemberRecord, node: Node, now: float) -> Results:
        """Mark a node as alive, and announce it to other nodes."""
        self._introduce(record, node)
        record.rivalry = None
        self._table.set_state(record, NodeLife.ALIVE, now)
        self._news.add(record.rumour(NodeLife.ALIVE))
        return [Joined(record.member)]

    def revive(self, record: MemberRecord, node: Node, now: float) -> Results:
        """Mark as alive a node that counted as gone but has just sent something itself.

        The node itself denies the accusation to the others. Until it does, each packet to it carries the
        accusation.
        """
        self._introduce(record, node)
        self._table.set_state(record, NodeLife.ALIVE, now)
        self._news.drop(record.uuid)
        return [Joined(record.member)]

    def restart(self, record: MemberRecord, node: Node, now: float) -> Results:
        """Replace the process of a node by that of another boot."""
        self._acquit(record)
        old = record.node
        self._introduce(record, node)
        record.rivalry = Rivalry(old, now, now, now) if node.boot > old.boot else None
        self._table.set_state(record, NodeLife.ALIVE, now)
        self._news.add(record.rumour(NodeLife.ALIVE))
        return [Restarted(record.member, old.boot)]

    def _introduce(self, record: MemberRecord, node: Node) -> None:
        self._table.set_description(record, node)
        record.weight = record.known_of(node.boot)  # the rest concerns other processes

    def describe(self, record: MemberRecord, node: Node) -> Results:
        """Update the description of the same process, and report a changed address."""
        old = record.node
        self._table.set_description(record, node)
        has_moved = (node.address, node.also, node.gossip) != (old.address, old.also, old.gossip)
        return [Moved(record.member, old.address)] if has_moved else []

    # --- suspicion ----------------------------------------------------------------------------------------

    def suspect(self, record: MemberRecord, by: bytes, now: float) -> Results:
        """Start to suspect a node that `by` cannot reach, or count another accuser."""
        if record.suspicion is not None:
            return self.count_accuser(record, by, now)
        self._table.set_state(record, NodeLife.SUSPECT, now)
        record.learn(weigh(record.rumour(NodeLife.SUSPECT)))
        record.suspicion = Suspicion(self._timing, self._table.alive, self._timers.local(now), by)
        self._wait(record, record.suspicion, now)
        self._news.add(record.rumour(NodeLife.SUSPECT, by))
        return [Suspected(record.member)]

    def count_accuser(self, record: MemberRecord, by: bytes, now: float) -> Results:
        """Count another accuser, which shortens the suspicion unless it already has enough of them."""
        suspicion = record.suspicion
        if suspicion is not None and suspicion.add_accuser(by):
            self._wait(record, suspicion, now)
            self._news.add(record.rumour(NodeLife.SUSPECT, by))
        return []

    def trust(self, record: MemberRecord, now: float) -> Results:
        """End the suspicion: the node is alive."""
        self._acquit(record)
        self._table.set_state(record, NodeLife.ALIVE, now)
        self._news.drop(record.uuid)  # nodes that believe the rumor will receive the denial
        return [SuspicionRefuted(record.member)]

    def _wait(self, record: MemberRecord, suspicion: Suspicion, now: float) -> None:
        call_off(suspicion.timer)
        left = max(0.0, suspicion.ends - self._timers.local(now))
        suspicion.timer = self._timers.schedule(
            left, now, lambda now: self.die(record, self._table.me.uuid, now)
        )

    def _acquit(self, record: MemberRecord) -> None:
        if record.suspicion is not None:
            call_off(record.suspicion.timer)
            record.suspicion = None

    # --- the end ------------------------------------------------------------------------------------------

    def die(self, record: MemberRecord, by: bytes, now: float) -> Results:
        """Declare a node dead.

        `by` is the uuid of the node that first declared it dead.
        """
        record.learn(weigh(record.rumour(NodeLife.DEAD)))
        return self._end(record, NodeLife.DEAD, by, now)

    def mark_left(self, record: MemberRecord, now: float, is_firsthand: bool = True) -> Results:
        """Mark a node as left.

        `is_firsthand` means that the node itself said goodbye to this node. Otherwise another node reports
        the goodbye.
        """
        record.learn(farewell(record) if is_firsthand else weigh(record.rumour(NodeLife.LEFT)))
        return self._end(record, NodeLife.LEFT, record.uuid, now)

    def _end(self, record: MemberRecord, state: NodeLife, by: bytes, now: float) -> Results:
        was_living = record.is_living
        self._acquit(record)
        record.rivalry = None
        self._table.set_state(record, state, now)
        self._news.add(record.rumour(state, by))
        self._sweep_later(now)
        if not was_living:
            return []
        return [Dead(record.member) if state is NodeLife.DEAD else Left(record.member)]

    def _sweep_later(self, now: float) -> None:
        if not self._is_sweeping:
            self._is_sweeping = True
            self._timers.schedule(SWEEP, now, self._sweep)

    def _sweep(self, now: float) -> Results:
        for record in self._table.outdated(now):
            self._table.remove_node(record)
        self._is_sweeping = False
        if self._table.has_idle:
            self._sweep_later(now)
        return []

    # --- two processes of one node ------------------------------------------------------------------------

    def clash(self, record: MemberRecord, rivalry: Rivalry, now: float) -> Results:
        """Mark a node as in conflict: its older process sent something after the newer one had started."""
        self._acquit(record)
        self._table.set_state(record, NodeLife.CONFLICT, now)
        self._news.drop(record.uuid)
        self._timers.schedule(
            SILENCE * self._timing.period, now, lambda now: self._judge(record, rivalry, now)
        )
        return [Conflict(record.member)]

    def _judge(self, record: MemberRecord, rivalry: Rivalry, now: float) -> Results:
        if record.rivalry is not rivalry:
            return []
        patience = SILENCE * self._timing.period
        speaks_older = now < rivalry.heard_older + patience
        speaks_newer = now < rivalry.heard_newer + patience
        if speaks_older and speaks_newer:
            left = min(rivalry.heard_older, rivalry.heard_newer) + patience - now
            self._timers.schedule(left, now, lambda now: self._judge(record, rivalry, now))
            return []
        if speaks_older:
            return self.survive(record, rivalry, now)
        if speaks_newer:
            results = self.join(record, record.node, now)
        else:
            results = self._end(record, NodeLife.DEAD, self._table.me.uuid, now)
        rivalry.began, record.rivalry = now, rivalry  # the silent process may only be paused
        return results

    def survive(self, record: MemberRecord, rivalry: Rivalry, now: float) -> Results:
        """Make the older process the node again, because the newer one is silent or dead."""
        record.spoke, record.heard = rivalry.older.boot, rivalry.heard_older
        return self.join(record, rivalry.older, now)
