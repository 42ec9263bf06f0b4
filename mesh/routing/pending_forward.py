"""Entries of published envelopes without a final answer, and the routing decisions they follow."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.mapping.decision import Decision, Kind
from mesh.routing.forward_stages import (
    DONE,
    KEEPING_AFTER,
    SENT,
    SENT_AGAIN,
    TRANSIT_AFTER,
    UNSENT,
    Keeping,
    Transit,
)
from mesh.routing.origin import Origin
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import RESENT, Envelope

# Process to which an earlier boot may have sent an entry.
SOMEBODY = (b"", 0)
# This node as one of several masters of an entry; the entry is in no queue to this node.
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
    keeping: Keeping = Keeping.PASSING
    transit: Transit = UNSENT
    lacking: dict[str, Ranges] = field(default_factory=dict)  # next hop: numbers without a final answer
    said: list[tuple[str, Answer]] = field(default_factory=list)  # answers so far, while others are missing
    why: str = ""
    is_asking: bool = False  # waits until others have answered about its route
    position: int = 0  # in the store
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
    is_joint: bool = False  # of a committed transaction

    # --- stages -----------------------------------------------------------------------------------------

    def change_transit(self, to: Transit) -> None:
        assert to in TRANSIT_AFTER[self.transit], (self.transit, to)
        self.transit = to

    def change_keeping(self, to: Keeping) -> None:
        assert to in KEEPING_AFTER[self.keeping], (self.keeping, to)
        self.keeping = to

    def presume_sent(self) -> None:
        """Record that a node may have the entry, even if this process has not sent it."""
        if self.transit is UNSENT:
            self.change_transit(SENT)

    def take_back(self) -> None:
        """Record that the node that the entry was sent to has handed it back."""
        if self.transit is not UNSENT:
            self.change_transit(UNSENT)

    @property
    def was_sent(self) -> bool:
        """Whether a node may have the entry; False after the final answer."""
        return self.transit is SENT or self.transit is SENT_AGAIN

    @property
    def may_be_there(self) -> bool:
        """Whether a node may have received the entry before it was last sent."""
        return self.transit is SENT_AGAIN

    @property
    def is_done(self) -> bool:
        """Whether no origin waits for the entry any longer."""
        return self.transit is DONE

    @property
    def is_kept(self) -> bool:
        """Whether this node keeps the entry until it is answered, because a local client published it."""
        return self.keeping.is_kept

    @property
    def warned(self) -> bool:
        """Whether the publisher knows that the entry waits, or will know once it is stored."""
        return self.keeping.is_warned

    # --- origins and hops -------------------------------------------------------------------------------

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

        An unreachable master of one track does not block the entries of another track.
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
        e = self.envelope  # as `size_of`, without a call
        if e.xml:
            return len(e.body) + 64 * e.count + len(e.xml)
        return len(e.body) + 64 * e.count

    @property
    def messages(self) -> int:
        return self.open.count()


def size_of(e: Envelope) -> int:
    """Return the bytes that an entry with the envelope counts in the outbound buffer."""
    return len(e.body) + 64 * e.count + len(e.xml)
