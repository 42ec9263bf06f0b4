"""State changes that follow from the introductions, messages and goodbyes of a node itself."""

from __future__ import annotations

from dataclasses import replace

from mesh.discovery.detector import Detector
from mesh.discovery.member import Member, NameClash, Node, NodeLife
from mesh.discovery.member_transitions import MemberTransitions, Results
from mesh.discovery.requests import Inform
from mesh.discovery.table import GRAVITY, MemberRecord, MemberTable, better_via

# Rule 1: the highest boot that a node has sent wins. Messages of lower boots are counted and dropped.
# Rule 2: among the nodes that count as alive, a name belongs to one node; its holder keeps it.
# Rule 3: a goodbye ends the boot that sent it.
# Rule 4: a dead or suspect node that sends something itself is alive, and is asked to deny the rumor to the
# others.


class DirectEvidence:
    """Processes the introductions, messages and goodbyes of nodes.

    `old_news` counts introductions and goodbyes of earlier boots, and introductions after a goodbye.
    `no_room` counts introductions that were dropped because the table was full.
    """

    def __init__(self, table: MemberTable, fates: MemberTransitions, detector: Detector) -> None:
        self.old_news = 0
        self.no_room = 0
        self._table = table
        self._fates = fates
        self._detector = detector

    def on_introduction(self, node: Node, now: float) -> Results:
        """Process a node's introduction of itself."""
        record = self._table.records.get(node.uuid)
        if record is not None and self._is_old(record, node.boot):
            return self._old(record, node, now)
        clash = self._clash(record, node, now)
        if clash is not None:
            return [clash]
        if record is None:
            if not self._table.make_room():
                self.no_room += 1
                return []
            record = self._fates.stranger(node, "hello", now)
        record.via, record.heard, record.spoke = better_via(record.via, "hello"), now, node.boot
        self._detector.spoke(record)
        return self._admit(record, node, now)

    def _is_old(self, record: MemberRecord, boot: int) -> bool:
        _, has_left, *_ = record.known_of(boot)  # True: the goodbye overtook this packet
        return boot < record.spoke or has_left

    def _old(self, record: MemberRecord, node: Node, now: float) -> Results:
        self.old_news += 1
        rivalry = record.rivalry
        if rivalry is None or node.boot != rivalry.older.boot:
            return []
        rivalry.record_boot(node.boot, now)
        if record.state is NodeLife.DEAD:
            clash = self._clash(record, node, now)
            return [clash] if clash is not None else self._fates.survive(record, rivalry, now)
        if record.is_living and rivalry.is_watched(now):
            return self._fates.clash(record, rivalry, now)
        return []

    def _clash(self, record: MemberRecord | None, node: Node, now: float) -> NameClash | None:
        if record is not None and record.is_living and record.node.name == node.name:
            return None
        holder = self._table.holder(node.name, node.uuid)
        if holder is None:
            return None
        via = record.via if record is not None else "hello"
        return NameClash(holder.member, Member(node, via, NodeLife.ALIVE, now, since=now))

    def _admit(self, record: MemberRecord, node: Node, now: float) -> Results:
        is_same = node.boot == record.boot
        match record.state:
            case NodeLife.ALIVE | NodeLife.SUSPECT if is_same:
                return [*self._fates.describe(record, node), *self._vindicated(record, now)]
            case NodeLife.ALIVE | NodeLife.SUSPECT:
                return self._fates.restart(record, node, now)
            case NodeLife.CONFLICT if is_same and record.rivalry is not None:
                record.rivalry.record_boot(node.boot, now)
                return []
            case NodeLife.DEAD | NodeLife.LEFT if is_same:
                return self._fates.revive(record, node, now)
            case NodeLife.SEEN if record.known_of(node.boot)[3] >= GRAVITY[NodeLife.DEAD]:
                return self._fates.revive(record, node, now)  # rumors of its next boot arrived meanwhile
            case _:
                return self._fates.join(record, node, now)

    def heard(self, uuid: bytes, now: float) -> Results:
        """Record a message from the node `uuid`, and end a suspicion of that node.

        A node that does not count as alive is ignored.
        """
        record = self._table.records.get(uuid)
        if record is None or not record.is_living:
            return []
        record.heard = now
        return self._vindicated(record, now)

    def _vindicated(self, record: MemberRecord, now: float) -> Results:
        if record.suspicion is None:
            return []
        # The other nodes suspect it until it denies the accusation itself.
        accusation = record.rumour(NodeLife.SUSPECT, record.accuser)
        return [*self._fates.trust(record, now), Inform(record.uuid, (accusation,))]

    def spoke(self, uuid: bytes, now: float) -> Results:
        """Record a message on the control connection of the node `uuid`.

        The message proves that the process is alive, because no message stays in flight on that connection
        when the process dies. A dead node counts as alive again, unless another node holds its name.
        """
        record = self._table.records.get(uuid)
        if record is None:
            return []
        self._detector.spoke(record)
        if record.state is NodeLife.DEAD and self._table.holder(record.node.name, uuid) is None:
            record.heard = now
            return self._fates.revive(record, record.node, now)
        return self.heard(uuid, now)

    def on_goodbye(self, uuid: bytes, boot: int, now: float) -> Results:
        """Process a node's goodbye.

        In a conflict, only the process with `boot` is recorded as silent. Goodbyes of earlier boots, of
        unknown nodes and of nodes that are only seen are ignored.
        """
        record = self._table.records.get(uuid)
        if record is None or record.state is NodeLife.SEEN:
            return []
        if record.state is NodeLife.CONFLICT and record.rivalry is not None:
            record.rivalry.left(boot)
            return []
        if boot < record.spoke:
            self.old_news += 1
            return []
        if record.state is NodeLife.LEFT and boot <= record.boot:
            return []
        record.heard, record.spoke = now, boot
        self._table.set_description(record, replace(record.node, boot=boot))
        return self._fates.mark_left(record, now)
