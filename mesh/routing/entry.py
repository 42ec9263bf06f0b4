"""What waits for its last word, and by which decision does it go where it goes?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from mesh.mapping.decision import Decision, Kind
from mesh.streams.ranges import Ranges
from mesh.wire.commands import Answer
from mesh.wire.envelope import RESENT, Envelope

SOMEBODY = (b"", 0)  # to whom an earlier process may have sent it
HERE = "*"  # instead of a node's name: this one, as one of several masters. It stands in no line

Course = tuple[Kind | None, str, tuple[str, ...], bool, str]


@dataclass(slots=True, eq=False)
class EntryRuling:
    """The last decision on one question, and the entries that it is about, by serial."""

    decision: Decision
    course: Course
    entries: dict[int, Entry] = field(default_factory=dict)
    is_mixed: bool = False  # some of them were sent on another course, for they came at another time


def course_of(decision: Decision) -> Course:
    """The course of an entry by a decision. Whether a node can be asked just now is another matter."""
    kind = decision.kind if decision.kind in (Kind.HERE, Kind.REFUSE) else None
    return kind, decision.code, decision.hops, decision.to_master, decision.why


@dataclass(slots=True, eq=False)
class Entry:
    """An envelope without its last word. `source`: the peer that brought it last, b"" = a client of this
    node; `also`: who brought it before that, and waits for its last word as well."""

    envelope: Envelope
    source: bytes
    arrived: float
    serial: int
    lacking: dict[str, Ranges] = field(default_factory=dict)  # next node -> numbers without its last word
    said: list[tuple[str, Answer]] = field(default_factory=list)  # last words, while others are lacking
    why: str = ""
    was_sent: bool = False  # so it may be there, answered or not
    may_be_there: bool = False  # it had left before it did so last, and what became of that is not known
    warned: bool = False  # its publisher knows that it waits
    position: int = 0  # in the store
    is_storing: bool = False  # on its way there
    is_kept: bool = False  # a client of this node has published it, or asked for it again, whoever asks last
    is_done: bool = False  # nobody here waits for anything any more
    was_divided: bool = False  # it went to several masters, so that OK of one is not the last word
    former: tuple[str, ...] = ()  # nodes to which it went before, which may still answer
    ruling: EntryRuling | None = None  # that it goes by,
    course: Course | None = None  # and what that was when it was looked at; None: it was not yet
    also: tuple[bytes, ...] = ()
    told: list[Answer] = field(default_factory=list)  # last words on some numbers, while others are open
    first: str = ""  # of several masters: who has it for durable subscriptions, too; "": it is not divided
    sent_to: tuple[bytes, int] | None = None  # the process that it went to last: uuid and boot
    is_given: bool = False  # clients here got it before its master, or want it
    first_was_sent: bool = False  # to that one; or it was written down, perhaps by an earlier process

    def brought_by(self, source: bytes, is_there: Callable[[bytes], bool]) -> None:
        """It comes again. Who is gone is forgotten: he brings it anew when he is back."""
        others = (each for each in (*self.also, self.source) if each != source)
        self.also = tuple(each for each in others if is_there(each))
        self.source = source

    def leaves_for(self, process: tuple[bytes, int]) -> None:
        """It goes on by that one. If another one had it before, that may have divided it among its masters
        otherwise than this one will, which is to be said."""
        is_again = self.sent_to not in (None, process)
        if is_again and not self.was_divided and not self.envelope.to:
            self.envelope = replace(self.envelope, flags=self.envelope.flags | RESENT)
        self.sent_to = process

    @property
    def askers(self) -> tuple[bytes, ...]:
        """All who wait for its last word."""
        return (*self.also, self.source)

    @property
    def hops(self) -> list[str]:
        """The other nodes it goes to, or waits for; "" = nobody knows."""
        return [hop for hop, numbers in self.lacking.items() if numbers and hop != HERE]

    @property
    def open(self) -> Ranges:
        """Numbers without their final answer."""
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
        """Domain, and the node that it is addressed to: one master away holds up no other."""
        envelope = self.envelope
        return envelope.domain, self.node if envelope.to else ""

    @property
    def node(self) -> str:
        """The node that it is addressed to, as SITE/NODE in another site; "": none."""
        parts = self.envelope.to.split("/", 5)
        if parts[0] or len(parts) < 3:
            return ""
        is_abroad = parts[1] == "site" and len(parts) > 4
        return f"{parts[2]}/{parts[4]}" if is_abroad else parts[2]

    def is_beside(self, other: Entry) -> bool:
        """Do both stand in one line?"""
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
