"""What do we know of each node, in one place and bounded?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from discovery.member import LEAP, VIA, Member, Node, NodeLife, Rumour
from discovery.rivalry import Rivalry
from discovery.roster import Roster
from discovery.suspicion import Suspicion

CAPACITY = 4096  # nodes of whatever state, ourselves included
TOLD = 256  # nodes of which one and the same has told us, and which never counted as alive
SEEN_FOR = 600.0  # s after which a node that never spoke is forgotten
GONE_FOR = 86_400.0  # s after which one that died or left is
LIVING = (NodeLife.ALIVE, NodeLife.SUSPECT)
GONE = (NodeLife.DEAD, NodeLife.LEFT)

# How far a word about a node goes: (boot, did it say goodbye itself?, incarnation, gravity). A higher one
# replaces a lower one, whichever comes first; so all nodes come to the same end, in whatever order they
# hear it.
Precedence = tuple[int, bool, int, int]
NOTHING: Precedence = (-1, False, 0, 0)
GRAVITY = {NodeLife.ALIVE: 0, NodeLife.SUSPECT: 1, NodeLife.DEAD: 2, NodeLife.LEFT: 3}


def fresh(boot: int) -> Precedence:
    """The weight of a process that has just said who it is."""
    return (boot, False, 0, GRAVITY[NodeLife.ALIVE])


def weigh(rumour: Rumour) -> Precedence:
    """Only a higher incarnation stands against a bad word; so against a goodbye, where others tell of it."""
    return (rumour.node.boot, False, rumour.incarnation, GRAVITY[rumour.state])


def farewell(record: MemberRecord) -> Precedence:
    """The weight of its own goodbye: the last word of a boot."""
    return (record.boot, True, record.incarnation, GRAVITY[NodeLife.LEFT])


def leaps(record: MemberRecord, boot: int) -> bool:
    """Is that boot too far above what we know, for the word of another?"""
    return record.state is not NodeLife.SEEN and boot > record.boot + LEAP


def better_via(a: str, b: str) -> str:
    """The one of two ways of finding a node that stands first in VIA."""
    return min(a, b, key=VIA.index)


@dataclass(slots=True, eq=False)
class MemberRecord:
    """One node. Only the table moves it from state to state."""

    node: Node
    via: str
    since: float
    heard: float
    state: NodeLife = NodeLife.SEEN
    weight: Precedence = NOTHING  # the weightiest word about it so far, its own included
    spoke: int = -1  # the boot with which it spoke to us itself; -1 = it never did since it is back
    own: Precedence = NOTHING  # as `weight`, of the boot it spoke with, when others tell of a later one
    suspicion: Suspicion | None = None
    teller: bytes = b""  # who told us of it first; b"": it has been alive, or was found without others
    rivalry: Rivalry | None = None  # with its last restart, a process of the boot before may still live

    @property
    def uuid(self) -> bytes:
        return self.node.uuid

    @property
    def boot(self) -> int:
        return self.node.boot

    @property
    def incarnation(self) -> int:
        """Of this boot."""
        return self.weight[2] if self.weight[0] == self.node.boot else 0

    @property
    def is_living(self) -> bool:
        """Does it count as alive?"""
        return self.state in LIVING

    @property
    def accuser(self) -> bytes:
        """The node that began to suspect it."""
        return self.suspicion.accuser if self.suspicion is not None else b""

    @property
    def member(self) -> Member:
        return Member(self.node, self.via, self.state, self.heard, self.incarnation, self.since)

    def rumour(self, state: NodeLife, by: bytes = b"") -> Rumour:
        """That said of it, as it is known now."""
        return Rumour(self.node, self.incarnation, state, by)

    @property
    def accusation(self) -> Rumour | None:
        """The bad word that counts until the node denies it, also where it is known to live."""
        if self.state in (NodeLife.SUSPECT, NodeLife.DEAD):
            return self.rumour(self.state, self.accuser)
        gravity = self.weight[3]
        if not self.is_living or not gravity:
            return None
        return self.rumour(NodeLife.SUSPECT if gravity == GRAVITY[NodeLife.SUSPECT] else NodeLife.DEAD)

    def learn(self, weight: Precedence) -> None:
        """The weightiest word counts."""
        if weight[0] > self.weight[0] == self.spoke:
            self.own = self.weight  # what others say of a later boot may be made up
        self.weight = max(self.weight, weight)

    def known_of(self, boot: int) -> Precedence:
        """The weightiest word about that process, if it speaks itself."""
        return next((word for word in (self.weight, self.own) if word[0] == boot), fresh(boot))


class MemberTable:
    """All nodes by uuid, name and state. Nothing here looks through all of them for one."""

    def __init__(self, me: MemberRecord, jitter: Callable[[], float]) -> None:
        self.roster = Roster(jitter)
        self.me = me
        self.records = {me.uuid: me}
        self._groups: dict[NodeLife, dict[bytes, MemberRecord]] = {state: {} for state in NodeLife}
        self._named: dict[str, list[MemberRecord]] = {me.node.name: [me]}
        self._groups[me.state][me.uuid] = me
        self._told_by: Counter[bytes] = Counter()  # how many each has told us of that never were alive

    @property
    def alive(self) -> int:
        """The number of nodes that count as alive, ourselves included."""
        return len(self.roster) + 1

    @property
    def is_full(self) -> bool:
        return len(self.records) >= CAPACITY

    def group(self, state: NodeLife) -> dict[bytes, MemberRecord]:
        """Records in that state, the one that came into it first first."""
        return self._groups[state]

    def named(self, name: str) -> list[MemberRecord]:
        """Records of that name, of whatever state."""
        return self._named.get(name, [])

    def holder(self, name: str, newcomer: bytes) -> MemberRecord | None:
        """The record that keeps the name against that newcomer. The dead and the only seen hold none."""
        holders = (*LIVING, NodeLife.CONFLICT)
        return next((r for r in self.named(name) if r.state in holders and r.uuid != newcomer), None)

    def has_told_enough(self, teller: bytes) -> bool:
        """Has that node told us of so many who never counted as alive that it may not tell of more?"""
        return self._told_by[teller] >= TOLD if teller else False

    def _count(self, record: MemberRecord, more: int) -> None:
        if record.teller:
            self._told_by[record.teller] += more
            if not self._told_by[record.teller]:
                del self._told_by[record.teller]

    def add(self, record: MemberRecord) -> None:
        """A node that was unknown, only seen so far."""
        self._count(record, 1)
        self.records[record.uuid] = record
        self._groups[record.state][record.uuid] = record
        self._named.setdefault(record.node.name, []).append(record)

    def forget(self, record: MemberRecord) -> None:
        """One that is not alive."""
        self._count(record, -1)
        del self.records[record.uuid]
        del self._groups[record.state][record.uuid]
        self._unname(record)

    def move(self, record: MemberRecord, state: NodeLife, now: float) -> None:
        """Into another state."""
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

    def replace(self, record: MemberRecord, node: Node) -> None:
        """Replace what a node said of itself."""
        if node.name != record.node.name:
            self._unname(record)
            self._named.setdefault(node.name, []).append(record)
        # A key is pinned to its uuid at first sight; whoever names none takes nothing away.
        record.node = node if node.key else replace(node, key=record.node.key)

    def make_room(self) -> bool:
        """True if one more fits, at the cost of the oldest hearsay, else of the longest gone."""
        if not self.is_full:
            return True
        oldest = (next(iter(self._groups[state].values()), None) for state in (NodeLife.SEEN, *GONE))
        idle = next((record for record in oldest if record is not None), None)
        if idle is not None:
            self.forget(idle)
        return idle is not None

    def outdated(self, now: float) -> list[MemberRecord]:
        """Records of nodes that were only seen, or are gone, for too long."""
        old: list[MemberRecord] = []
        for state, lasts in LASTS.items():
            for record in self._groups[state].values():
                if now < record.since + lasts:
                    break
                old.append(record)
        return old

    @property
    def has_idle(self) -> bool:
        """Is there anybody who will be forgotten, if time passes?"""
        return any(self._groups[state] for state in LASTS)

    def any_dead(self, chance: float) -> MemberRecord | None:
        """One of the dead, by a chance in [0, 1)."""
        dead = self._groups[NodeLife.DEAD]
        return next(islice(dead.values(), int(chance * len(dead)), None), None)

    def _unname(self, record: MemberRecord) -> None:
        same = self._named[record.node.name]
        same.remove(record)
        if not same:
            del self._named[record.node.name]


LASTS = {NodeLife.SEEN: SEEN_FOR, NodeLife.DEAD: GONE_FOR, NodeLife.LEFT: GONE_FOR}
