"""What happened, and when? Everything that clients, nodes and faults did, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Event:
    """An event: `who` did or met `kind`. Which of the other fields count, KINDS says."""

    at: float
    kind: str
    who: str
    boot: int = 0
    stream: str = ""
    domain: str = ""
    first: int = 0
    last: int = 0
    keys: tuple[str, ...] = ()  # of each number, or a pattern
    text: str = ""  # contents, a state, a cause
    sub: int = 0
    gap: int = 0
    # Letters: p persistent, i initial, e the end of a topic, t waits for its master, g goes on reading,
    # d before its master had it.
    flags: str = ""
    to: str = ""
    route: tuple[str, ...] = ()
    stamp: int = 0

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def id(self) -> tuple[str, str, int]:
        """Of one message."""
        return self.stream, self.domain, self.first

    def __str__(self) -> str:
        numbers = f"{self.first}..{self.last}" if self.last > self.first else f"{self.first or ''}"
        parts = [
            self.stream[:6],
            self.domain,
            numbers,
            " ".join(dict.fromkeys(self.keys)),
            self.text,
            self.to,
        ]
        more = [f"gap {self.gap}" if self.gap else "", self.flags]
        return f"{self.at:9.3f} {self.who}: {self.kind} " + " ".join(filter(None, (*parts, *more)))


# Of clients:    pub (its messages leave), answer (text: the state), sub, confirmed, unsub, deliver, gap,
#                retracted (of what it was given), down, erase (asked), erased (answered), read (what get()
#                at `to` said in the end; text: how)
# Of nodes:      start, crash, stop, refused (its store), accept (as master, in memory), log (an envelope
#                with a position is on disk), tail (it waits, on disk), known (numbers are on disk),
#                view (text: what it says of `to`, with that one's boot and incarnation), sample, end,
#                owed (to the node `to`, at the end), hung up (on `to`: it broke the protocol), value,
#                values (that were all), untold (a gap that its end has silenced; to a session or a node),
#                untold yet (`to` is still to be told of one, when get() is asked)
#                goes (a message moves to the node `to`), went (that has it), came back (it would not), comes
#                (from another node), no room (text: where a move begins, or comes), again (it keeps for
#                durable subscriptions what it had as another's)
#                has rules (a list that all share, by its stamp and what it says), goes by (it counts there)
#                thrown out (a connection that stands, as if it had ended)
#                sees (a gateway, the site `to`, with `keys` as its nodes; text: its state), saw (in the end)
# Of the admin:  rules put (`keys`: its words), rules said (text: the answer); rules read (from a file)
# Of the world:  fault (text: which), over (a fault), healed, problem (an exception)


class History:
    """Grows while a story is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()  # what was met now and then

    def add(self, event: Event) -> None:
        self.events.append(event)

    def of(self, *kinds: str) -> Iterator[Event]:
        return (event for event in self.events if event.kind in kinds)

    def met(self, what: str, times: int = 1) -> None:
        """Something of which we want to know that it ever happens."""
        if times:
            self.counts[what] += times

    def digest(self) -> str:
        """The same for the same story."""
        found = sha256()
        for event in self.events:
            found.update(repr(astuple(event)).encode())
        return found.hexdigest()
