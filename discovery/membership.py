"""Who is there? A table of nodes, with no socket and no clock."""

# Rule 1: only what a node says itself makes it alive; what others say of it makes it seen, no more.
# Rule 2: per node the highest boot heard wins; anything from a lower boot is old news, counted and dropped.
# Rule 3: among the nodes that were ever heard, a name belongs to one; an alive holder keeps it.
# Rule 4: for each node Joined comes first, then Restarted and Moved, then Dead or Left, then Joined again.

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

SEEN_FOR = 600.0  # seconds after which a node that never spoke is forgotten
CAPACITY = 4096  # most members in the table, ourselves included


class Presence(StrEnum):
    """What we know of a node's life."""

    SEEN = "seen"  # somebody told us of it
    ALIVE = "alive"  # it spoke to us, and is not silent
    DEAD = "dead"  # it spoke to us once, and is silent
    LEFT = "left"  # it said goodbye


@dataclass(frozen=True, slots=True)
class Member:
    """A node as we know it."""

    uuid: bytes
    name: str
    boot: int  # grows at each start of the node
    address: str  # where to dial it
    via: str  # how we first learned of it: "self", "seed", "hello", ...
    state: Presence
    heard: float  # when it last spoke; for a seen one, when we were told of it


@dataclass(frozen=True, slots=True)
class Sighted:
    """Told of a node that is not alive for us, with something new about it: worth dialling."""

    member: Member


@dataclass(frozen=True, slots=True)
class Joined:
    """A node is alive that was not."""

    member: Member


@dataclass(frozen=True, slots=True)
class Restarted:
    """An alive node speaks with a higher boot: the process that we knew is gone."""

    member: Member
    old_boot: int


@dataclass(frozen=True, slots=True)
class Moved:
    """An alive node, the same process, is to be found at another address."""

    member: Member
    old_address: str


@dataclass(frozen=True, slots=True)
class Dead:
    """An alive node was not heard for too long."""

    member: Member


@dataclass(frozen=True, slots=True)
class Left:
    """An alive node said goodbye."""

    member: Member


@dataclass(frozen=True, slots=True)
class NameClash:
    """A newcomer asks for a name whose holder is alive: it is not admitted, and the table stays as it was."""

    holder: Member
    newcomer: Member


Event = Sighted | Joined | Restarted | Moved | Dead | Left | NameClash


def name_holder(members: Iterable[Member], name: str, newcomer: bytes) -> Member | None:
    """The member that keeps `name` against the node with the uuid `newcomer`; None if it is free.

    Only an alive holder keeps it. Hearsay holds no name, and the dead and those who left give it up.
    """
    for member in members:
        if member.name == name and member.uuid != newcomer and member.state is Presence.ALIVE:
            return member
    return None


class Membership:
    """All nodes that we know, ourselves included. Times are seconds, and never go back.

    `silence` is how long an alive node may say nothing. `old_news` counts what came from an earlier boot,
    `no_room` the nodes for which the table was too full.
    """

    def __init__(self, me: Member, silence: float = 10.0) -> None:
        self.me = me
        self.old_news = 0
        self.no_room = 0
        self._silence = silence
        self._members = {me.uuid: me}

    def sight(self, uuid: bytes, name: str, boot: int, address: str, via: str, now: float) -> list[Event]:
        """Somebody tells us of a node, where it is and what it is called."""
        known = self._members.get(uuid)
        if known is None:
            if len(self._members) >= CAPACITY:
                self.no_room += 1  # hearsay pushes nobody out
                return []
            return self._keep(Sighted, Member(uuid, name, boot, address, via, Presence.SEEN, now))
        if known.state is Presence.ALIVE or self._is_old_news(known, boot):
            return []
        has_restarted = known.state is not Presence.SEEN and boot > known.boot
        if address == known.address and not has_restarted:
            return []
        # Only the address is believed: a boot made up by a third one would shut out the true node.
        return self._keep(Sighted, replace(known, address=address))

    def hear(self, uuid: bytes, name: str, boot: int, address: str, now: float) -> list[Event]:
        """A node speaks to us: it is alive, unless this is old news, its name taken or the table full."""
        if uuid == self.me.uuid:
            return []
        known = self._members.get(uuid)
        if known is not None and self._is_old_news(known, boot):
            self.old_news += 1
            return []
        member = Member(uuid, name, boot, address, known.via if known else "hello", Presence.ALIVE, now)
        return self._admit(known, member)

    def leave(self, uuid: bytes, boot: int, now: float) -> list[Event]:
        """A node says goodbye; it comes back only with a higher boot."""
        known = self._members.get(uuid)
        if known is None or known.state is Presence.SEEN or uuid == self.me.uuid:
            return []
        if boot < known.boot:
            self.old_news += 1
            return []
        gone = replace(known, boot=boot, state=Presence.LEFT, heard=now)
        if known.state is Presence.ALIVE:
            return self._keep(Left, gone)
        self._members[uuid] = gone
        return []

    def tick(self, now: float) -> list[Event]:
        """Time has passed: the silent are dead, and the never heard are forgotten."""
        events: list[Event] = []
        for member in list(self._members.values()):
            ends = self._ends(member)
            if ends is None or now < ends:
                continue
            if member.state is Presence.ALIVE:
                events += self._keep(Dead, replace(member, state=Presence.DEAD))
            else:
                del self._members[member.uuid]
        return events

    def deadline(self) -> float | None:
        """When tick() is next worth calling; None if time alone changes nothing."""
        all_ends = map(self._ends, self._members.values())
        return min((ends for ends in all_ends if ends is not None), default=None)

    def alive(self) -> list[Member]:
        """The alive members, ourselves included."""
        return [member for member in self._members.values() if member.state is Presence.ALIVE]

    def all(self) -> list[Member]:
        """All members of whatever state, ourselves included."""
        return list(self._members.values())

    def by_name(self, name: str) -> Member | None:
        """The member of this name: the one that was heard, else one that was only seen."""
        named = [member for member in self._members.values() if member.name == name]
        return min(named, key=lambda member: member.state is Presence.SEEN, default=None)

    def _is_old_news(self, known: Member, boot: int) -> bool:
        match known.state:
            case Presence.SEEN:
                return False  # the boot that others told us proves nothing
            case Presence.LEFT:
                return boot <= known.boot  # packets that the goodbye overtook
            case _:
                # The same boot may come back after DEAD: nobody spreads a death yet, so a mere partition
                # must heal by itself, and what we called dead was only silent to us.
                return boot < known.boot

    def _admit(self, known: Member | None, member: Member) -> list[Event]:
        # Whoever is alive has its name already: no search through the table for each packet of each peer.
        is_settled = known is not None and known.state is Presence.ALIVE and known.name == member.name
        if not is_settled:
            holder = name_holder(self._members.values(), member.name, member.uuid)
            if holder is not None:
                return [NameClash(holder, member)]
            self._replace_gone_holder(member)
        if known is None and not self._make_room():
            self.no_room += 1
            return []
        self._members[member.uuid] = member
        return self._what_is_new(known, member)

    def _what_is_new(self, known: Member | None, member: Member) -> list[Event]:
        if known is None or known.state is not Presence.ALIVE:
            return [Joined(member)]
        if member.boot > known.boot:
            return [Restarted(member, known.boot)]
        return [Moved(member, known.address)] if member.address != known.address else []

    def _replace_gone_holder(self, member: Member) -> None:
        """Forget whoever held this member's name and is dead or has left."""
        for other in list(self._members.values()):
            if other.name == member.name and other.uuid != member.uuid and other.state is not Presence.SEEN:
                del self._members[other.uuid]

    def _make_room(self) -> bool:
        """True if one more member fits, at the cost of the oldest hearsay, else of the longest gone."""
        if len(self._members) < CAPACITY:
            return True
        idle = [member for member in self._members.values() if member.state is not Presence.ALIVE]
        if not idle:
            return False
        oldest = min(idle, key=lambda member: (member.state is not Presence.SEEN, member.heard))
        del self._members[oldest.uuid]
        return True

    def _ends(self, member: Member) -> float | None:
        """When time alone changes this member, if ever."""
        if member.uuid == self.me.uuid:
            return None
        match member.state:
            case Presence.ALIVE:
                return member.heard + self._silence
            case Presence.SEEN:
                return member.heard + SEEN_FOR
            case _:
                return None

    def _keep(self, event: type[Sighted | Dead | Left], member: Member) -> list[Event]:
        self._members[member.uuid] = member
        return [event(member)]
