"""What does a client keep of what it asked, and of what it was given?"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mesh.streams.seen import Seen
from mesh.wire import commands as c
from mesh.wire.envelope import ERASED, INITIAL, Envelope


@dataclass(frozen=True)
class Got:
    """A message as a subscriber was given it."""

    id: tuple[bytes, str, int]  # stream, domain, number
    key: str
    content: bytes
    sender: str
    route: tuple[str, ...]
    is_persistent: bool
    is_initial: bool
    gap: int  # messages that were dropped just before
    is_erased: bool = False
    strata: tuple[int, ...] = ()


@dataclass(eq=False)
class Subscription:
    """`rate` is how many items a second it uses up; None = all at once, 0 = none."""

    number: int
    query: c.Query
    initial: bool
    rate: float | None
    is_confirmed: bool = False
    was_restarted: bool = False
    overflow: str = ""
    max_queue: int = 0
    ended: str = ""  # why it is over
    used: int = 0
    got: list[Got] = field(default_factory=list)
    dropped: int = 0
    seen: Seen = field(default_factory=Seen)
    items: deque[list[Got]] = field(default_factory=deque)

    def command(self, request: int, resumed: bool = False) -> c.Subscribe:
        return c.Subscribe(
            request, self.number, self.query, self.initial, resumed, self.overflow, self.max_queue
        )

    @property
    def contents(self) -> list[bytes]:
        return [message.content for message in self.got]


@dataclass
class Call:
    """A question, and its reply when it has come."""

    command: c.Command
    reply: c.Reply | None = None
    found: list[Envelope] = field(default_factory=list)


def got(e: Envelope, i: int, gap: int) -> Got:
    """The message at this place of an envelope."""
    return Got(
        (e.stream, e.domain, e.number(i)),
        e.keys[e.row(i)],
        e.message(i)[1],
        e.sender,
        tuple(hop.node for hop in e.route),
        e.persistent,
        bool(e.flags & INITIAL),
        gap,
        bool(e.flags & ERASED),
        tuple(hop.stratum for hop in e.route),
    )
