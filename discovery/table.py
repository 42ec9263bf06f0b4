"""Bounded table of all known nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from mesh.discovery.member import LEAP, VIA, Member, Node, NodeLife, Rumour
from mesh.discovery.probe_order import ProbeOrder
from mesh.discovery.rivalry import Rivalry
from mesh.discovery.suspicion import Suspicion

CAPACITY = 4096  # nodes of any state, including this one
TOLD = 256  # never-alive nodes that one node may report
SEEN_FOR = 600.0  # s before a node without contact is forgotten
GONE_FOR = 86_400.0  # s before a dead or left node is forgotten
LIVING = (NodeLife.ALIVE, NodeLife.SUSPECT)
GONE = (NodeLife.DEAD, NodeLife.LEFT)

# Weight of a claim about a node: (boot, said goodbye itself, incarnation, gravity). A higher one replaces a
# lower one in whichever order they arrive, so all nodes reach the same state.
Precedence = tuple[int, bool, int, int]
NOTHING: Precedence = (-1, False, 0, 0)
GRAVITY = {NodeLife.ALIVE: 0, NodeLife.SUSPECT: 1, NodeLife.DEAD: 2, NodeLife.LEFT: 3}


def fresh(boot: int) -> Precedence:
    """Return the weight of the claim that a process is alive, with incarnation 0."""
    return (boot, False, 0, GRAVITY[NodeLife.ALIVE])


def weigh(rumour: Rumour) -> Precedence:
    """Return the weight of a rumor.

    Within a boot, a rumor that the node is alive outweighs an accusation only with a higher incarnation.
    """
    return (rumour.node.boot, False, rumour.incarnation, GRAVITY[rumour.state])


def farewell(record: MemberRecord) -> Precedence:
    """Return the weight of a node's own goodbye, which ends its boot."""
    return (record.boot, True, record.incarnation, GRAVITY[NodeLife.LEFT])


def leaps(record: MemberRecord, boot: int) -> bool:
    """Return whether a reported boot is too far above the known one to be believed.

    The known boot of a seen node proves nothing, so any boot is believed.
    """
    return record.state is not NodeLife.SEEN and boot > record.boot + LEAP


def better_via(a: str, b: str) -> str:
    """Return the source that comes first in VIA."""
    return min(a, b, key=VIA.index)


@dataclass(slots=True, eq=False)
class MemberRecord:
    """Record of one node.

    `state` is changed only by `MemberTable.set_state`.
    """

    node: Node
    via: str
    since: float
    heard: float
    state: NodeLife = NodeLife.SEEN
    weight: Precedence = NOTHING  # of the weightiest claim, its own included
    spoke: int = -1  # boot of its last direct contact; -1: none since its return
    # As `weight`, for the boot in direct contact, when others report a later one.
    own: Precedence = NOTHING
    suspicion: Suspicion | None = None
    teller: bytes = b""  # first reporter; b"": alive once, or found otherwise
    rivalry: Rivalry | None = None  # since its last restart, if the older process may live

    @property
    def uuid(self) -> bytes:
        return self.node.uuid

    @property
    def boot(self) -> int:
        return self.node.boot

    @property
    def incarnation(self) -> int:
        """The incarnation within the current boot, or 0 if none is known."""
        return self.weight[2] if self.weight[0] == self.node.boot else 0

    @property
    def is_living(self) -> bool:
        """Whether the node counts as alive, which includes a suspect."""
        return self.state in LIVING

    @property
    def accuser(self) -> bytes:
        """The uuid of the node that started the suspicion, or empty without a suspicion."""
        return self.suspicion.accuser if self.suspicion is not None else b""

    @property
    def member(self) -> Member:
        return Member(self.node, self.via, self.state, self.heard, self.incarnation, self.since)

    def rumour(self, state: NodeLife, by: bytes = b"") -> Rumour:
        return Rumour(self.node, self.incarnation, state, by)

    @property
    def accusation(self) -> Rumour | None:
        """The accusation that the node has not denied yet, or None.

        An accusation can remain although the node counts as alive again.
        """
        if self.state in (NodeLife.SUSPECT, NodeLife.DEAD):
            return self.rumour(self.state, self.accuser)
        gravity = self.weight[3]
        if not self.is_living or not gravity:
            return None
        return self.rumour(NodeLife.SUSPECT if gravity == GRAVITY[NodeLife.SUSPECT] else NodeLife.DEAD)

    def learn(self, weight: Precedence) -> None:
        """Keep the weightier of the known claim and `weight`."""
        if weight[0] > self.weight[0] == self.spoke:
            self.own = self.weight  # the reported later boot may be invented
        self.weight = max(self.weight, weight)

    def known_of(self, boot: int) -> Precedence:
        """Return the weight of the known claims about the process of this boot, or that of a new process."""
        return next((word for word in (self.weight, self.own) if word[0] == boot), fresh(boot))


class MemberTable:
    """Table of all nodes by uuid, name and state."""

    def __init__(self, me: MemberRecord, jitter: Callable[[], float]) -> None:
        self.roster = ProbeOrder(jitter)
        self.me = me
        self.records = {me.uuid: me}
        self._groups: dict[NodeLife, dict[bytes, MemberRecord]] = {state: {} for state in NodeLife}
        self._named: dict[str, list[MemberRecord]] = {me.node.name: [me]}
        self._groups[me.state][me.uuid] = me
        self._told_by: Counter[bytes] = Counter()  # never-alive nodes by reporter

    @property
    def alive(self) -> int:
        """The number of nodes that count as alive, including this one."""
        return len(self.roster) + 1

    @property
    def is_full(self) -> bool:
        return len(self.records) >= CAPACITY

    def group(self, state: NodeLife) -> dict[bytes, MemberRecord]:
        """Return the records in this state, in the order in which they entered it."""
        return self._groups[state]

    def records_named(self, name: str) -> list[MemberRecord]:
        return self._named.get(name, [])

    def holder(self, name: str, newcomer: bytes) -> MemberRecord | None:
        """Return the record that holds the name, other than that of `newcomer`, or None.

        Nodes that are dead, left or only seen hold no name.
        """
        holders = (*LIVING, NodeLife.CONFLICT)
        return next((r for r in self.records_named(name) if r.state in holders and r.uuid != newcomer), None)

    def has_told_enough(self, teller: bytes) -> bool:
        """Return whether the table has TOLD nodes that `teller` reported and that were never alive."""
        return self._told_by[teller] >= TOLD if teller else False

    def _count(self, record: MemberRecord, more: int) -> None:
        if record.teller:
            self._told_by[record.teller] += more
            if not self._told_by[record.teller]:
                del self._told_by[record.teller]

    def add(self, record: MemberRecord) -> None:
        self._count(record, 1)
        self.records[record.uuid] = record
        self._groups[record.state][record.uuid] = record
        self._named.setdefault(record.node.name, []).append(record)

    def remove_node(self, record: MemberRecord) -> None:
        """Remove a node that does not count as alive."""
        self._count(record, -1)
        del self.records[record.uuid]
        del self._groups[record.state][record.uuid]
        self._unname(record)

    def set_state(self, record: MemberRecord, state: NodeLife, now: float) -> None:
        """Set the state of the record, as of `now`, and update the nodes to probe."""
        was_living = record.is_living
        del self._groups[record.state][record.uuid]
        record.state, record.since = state, now
        if record.is_living:
            self._count(record, -1)
            record.teller = b""
        self._groups[state][record.uuid] = record
        if record.is_living and not was_living:
            self.roster.add(record.uuid)
        elif was_living and not record.is_living:
            self.roster.remove(record.uuid)

    def set_description(self, record: MemberRecord, node: Node) -> None:
        """Replace the description of a node, but keep its known key if the new description has none."""
        if node.name != record.node.name:
            self._unname(record)
            self._named.setdefault(node.name, []).append(record)
        # A key is pinned to its uuid at first sight. A description without a key does not remove it.
        record.node = node if node.key else replace(node, key=record.node.key)

    def make_room(self) -> bool:
        """Return whether a record fits, after evicting another one if necessary.

        The oldest seen node is evicted, or else the oldest dead one, or else the oldest left one.
        """
        if not self.is_full:
            return True
        oldest = (next(iter(self._groups[state].values()), None) for state in (NodeLife.SEEN, *GONE))
        idle = next((record for record in oldest if record is not None), None)
        if idle is not None:
            self.remove_node(idle)
        return idle is not None

    def outdated(self, now: float) -> list[MemberRecord]:
        """Return the records of nodes that were seen or gone for too long."""
        old: list[MemberRecord] = []
        for state, lasts in LASTS.items():
            for record in self._groups[state].values():
                if now < record.since + lasts:
                    break
                old.append(record)
        return old

    @property
    def has_idle(self) -> bool:
        """Whether there are records that will expire."""
        return any(self._groups[state] for state in LASTS)

    def any_dead(self, chance: float) -> MemberRecord | None:
        """Return one of the dead nodes, picked by `chance` in [0, 1), or None if there are none."""
        dead = self._groups[NodeLife.DEAD]
        return next(islice(dead.values(), int(chance * len(dead)), None), None)

    def _unname(self, record: MemberRecord) -> None:
        same = self._named[record.node.name]
        same.remove(record)
        if not same:
            del self._named[record.node.name]


LASTS = {NodeLife.SEEN: SEEN_FOR, NodeLife.DEAD: GONE_FOR, NodeLife.LEFT: GONE_FOR}
