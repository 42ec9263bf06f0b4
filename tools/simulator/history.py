"""The history of a run: all events of clients, nodes and faults, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from hashlib import sha256

# Figures of unfinished moves of clients.
PINNED = ("resume_pins", "pinned_envelopes")
MOVING = ("visiting_sessions", "sessions_held", "resuming", *PINNED)


@dataclass(frozen=True, slots=True)
class Event:
    """An event of the client, node or fault `who`.

    The comment below lists the kinds and their fields.
    """

    at: float
    kind: str
    who: str
    boot: int = 0
    stream: str = ""
    domain: str = ""
    first: int = 0
    last: int = 0
    keys: tuple[str, ...] = ()  # of each number, or a pattern
    text: str = ""  # content, state, or cause
    sub: int = 0
    gap: int = 0
    # Letters: p persistent, i initial, e end of the topic, t waits for its master, g reader makes progress, d
    # dirty read.
    flags: str = ""
    to: str = ""
    route: tuple[str, ...] = ()
    stamp: int = 0

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def id(self) -> tuple[str, str, int]:
        """The id of the first or only message."""
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


# Clients:       pub (messages leave), envelope (a larger one than before; stamp: bytes), answer (text: the
#                state), sub, confirmed, unsub, deliver, gap, retracted (a dirty read), down, erase (request),
#                erased (answer), read (the result of get() at `to` in the end; text: how)
#                commit (a transaction; keys: what it settles, route: its messages), commit said (its answer)
#                op (a call for shared data; first: its number, domain: space, keys: its key, text: word,
#                stamp: version, value or amount, to: content), op said (text: code, stamp and to: result), op
#                open (in the end), held (a lock; stamp: token), held over (by the clock of the client)
#                visit (it is sent to the node at the address `to`), came to (a client that knows several
#                nodes), released (by its former nodes), open visit (not released in the end), dials (the
#                address `to`), unserved (in the end)
# Nodes:         serves (a session that is at another node), has session (in the end), gives up (a session
#                that left, without its release), drain (how far; text: step, keys: what is left), drain
#                refused (text: code, keys: other nodes that stay), emptied (stamp: messages left)
#                start, crash, stop, refused (its store), accept (as master, in memory), log (an envelope
#                with a position is on disk), tail (an envelope waits, on disk), known (numbers are on disk),
#                view (text: the state of `to`, with its boot and incarnation), sample, end,
#                owed (to the node `to`, at the end), hung up (on `to`, which broke the protocol), value,
#                values (no more values follow), untold (a gap for a session or node that the end of the
#                process left unreported), untold yet (`to` has an unreported gap when get() is called)
#                goes (a message moves to the node `to`), went (`to` has it), came back (`to` refused it),
#                comes (from another node), no room (text: where a move begins, or comes), again (a message
#                of another master is kept for durable subscriptions)
#                outcome (of a transaction, on disk), unfinished (of transactions, in the end)
#                defined (a space; first: generation, to: home, stamp: version of its values)
#                out of bounds (text: which table of spaces)
#                has rules (a shared list, by timestamp and hash), goes by (the list is in effect)
#                thrown out (an open connection, as if it were closed)
#                sees (a gateway sees the site `to`, its nodes in `keys`; text: its state), saw (the last)
# Administrator: rules put (`keys`: its words), rules said (text: the answer); rules read (from a file)
# World:         fault (text: which), over (a fault), healed, problem (an exception)


class History:
    """The events of one run, in order; they are added during the run."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()  # number of noteworthy events

    def add(self, event: Event) -> None:
        self.events.append(event)

    def of(self, *kinds: str) -> Iterator[Event]:
        return (event for event in self.events if event.kind in kinds)

    def met(self, what: str, times: int = 1) -> None:
        """Count an event that must happen now and then."""
        if times:
            self.counts[what] += times

    def digest(self) -> str:
        """Return a hash that is equal for equal runs."""
        found = sha256()
        for event in self.events:
            found.update(repr(astuple(event)).encode())
        return found.hexdigest()
