"""Entries of published envelopes without a final answer, and the routing decisions they follow."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.mapping.decision import Decision, Kind
from mesh.routing.origin import Origin
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import RESENT, Envelope

# Process to which an earlier boot may have sent an entry.
SOMEBODY = (b"", 0)
# This node as one of several masters of an entry, which waits in no queue for it.
HERE = "*"

Course = tuple[Kind | None, str, tuple[str, ...], bool, str]


@dataclass(slots=True, eq=False)
class SharedDecision:
    """The latest decision on one routing question, with the entries that it concerns, by serial."""

    decision: Decision
    course: Course
    entries: dict[int, PendingForward] = field(default_factory=dict)
    is_mixed: bool = False  # some entries followed an earlier decision


def course_of(decision: Decision) -> Course:
    """Return the route of a decision, regardless of whether its nodes are reachable."""
    kind = decision.kind if decision.kind in (Kind.HERE, Kind.REFUSE) else None
    return kind, decision.code, decision.hops, decision.to_master, decision.why


@dataclass(slots=True, eq=False)
class PendingForward:
    """An envelope without its final answer.

    `origin` sent the envelope last. `also` are earlier origins that wait for the final answer, too.
    """

    envelope: Envelope
    origin: Origin
    arrived: float
    serial: int
    lacking: dict[str, Ranges] = field(default_factory=dict)  # next hop: numbers without a final answer
    said: list[tuple[str, Answer]] = field(default_factory=list)  # answers so far, while others are missing
    why: str = ""
    is_asking: bool = False  # waits until others have answered about its route
    was_sent: bool = False  # may have arrived, answered or not
    may_be_there: bool = False  # sent before, with an unknown outcome
    warned: bool = False  # the publisher knows that it waits
    position: int = 0  # in the store
    is_storing: bool = False  # being stored
    is_kept: bool = False  # published or requested again by a local client
    is_done: bool = False  # no origin waits for it
    was_divided: bool = False  # sent to several masters: one OK is not final
    former: tuple[str, ...] = ()  # earlier next hops, which may still answer
    ruling: SharedDecision | None = None  # decision that it follows
    course: Course | None = None  # its route when last examined; None: not yet
    also: tuple[Origin, ...] = ()
    told: list[Answer] = field(default_factory=list)  # final answers on some of its numbers
    first: str = ""  # master that serves durable subscriptions; "": one master
    sent_to: tuple[bytes, int] | None = None  # uuid and boot of the last next hop
    is_given: bool = False  # local clients receive it before its master
    first_was_sent: bool = False  # sent to `first`, or stored before

    def add_origin(self, origin: Origin) -> None:
        """Add the origin of a repeated envelope, and drop disconnected origins, which will resend it."""
        others = (each for each in (*self.also, self.origin) if each != origin)
        self.also = tuple(each for each in others if each.is_there())
        self.origin = origin

    def mark_sent_to(self, process: tuple[bytes, int]) -> None:
        """Record the process that the entry is sent to.

        If another process was sent the undivided entry before, that process may have divided it among masters
        differently, so the envelope is marked as resent. Direct messages are never marked.
        """
        is_again = self.sent_to not in (None, process)
        if is_again and not self.was_divided and not self.envelope.to:
            self.envelope = replace(self.envelope, flags=self.envelope.flags | RESENT)
        self.sent_to = process

    @property
    def askers(self) -> tuple[Origin, ...]:
        """The origins that wait for the final answer."""
        return (*self.also, self.origin)

    @property
    def hops(self) -> list[str]:
        """The other nodes that the entry is sent to or waits for; "" = not known yet."""
        return [hop for hop, numbers in self.lacking.items() if numbers and hop != HERE]

    @property
    def open(self) -> Ranges:
        """The numbers without a final answer."""
        if len(self.lacking) == 1:
            return next(iter(self.lacking.values()))
        together = Ranges()
        for numbers in self.lacking.values():
            for first, last in numbers:
                together.add(first, last)
        return together

    @property
    def key(self) -> tuple[bytes, str]:
        return self.envelope.stream, self.envelope.domain

    @property
    def track(self) -> tuple[str, str]:
        """The domain and the addressed node.

        An unreachable master of one track does not block another.
        """
        envelope = self.envelope
        return envelope.domain, self.node if envelope.to else ""

    @property
    def node(self) -> str:
        """The node that the envelope is addressed to, as SITE/NODE in another site, or ""."""
        parts = self.envelope.to.split("/", 5)
        if parts[0] or len(parts) < 3:
            return ""
        is_abroad = parts[1] == "site" and len(parts) > 4
        return f"{parts[2]}/{parts[4]}" if is_abroad else parts[2]

    def is_beside(self, other: PendingForward) -> bool:
        """Return whether both entries share a queue."""
        return self.track == other.track and not set(self.hops).isdisjoint(other.hops)

    @property
    def size(self) -> int:
        e = self.envelope
        if e.xml:
            return len(e.body) + 64 * e.count + len(e.xml)
        return len(e.body) + 64 * e.count

    @property
    def messages(self) -> int:
        return self.open.count()
