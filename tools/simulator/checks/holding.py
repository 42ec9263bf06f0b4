"""Checks that at most one consumer holds a message of a queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import inf

from tools.simulator.checks.facts import Facts, Id, Violation
from tools.simulator.checks.losing import Unsure, put_anew
from tools.simulator.checks.transactions import Transaction, settled_by
from tools.simulator.history import Event, History

GRACE = 5.0  # s for which a disconnected session keeps messages
RECOVER = 5.0  # s after a start with trusted claims
SLACK = 0.1  # s of clock difference between node and check
ENDS = ("ack", "nack", "reject")

Holder = tuple[str, str, int]  # node, session, and subscription number


@dataclass(slots=True)
class Hold:
    """The consumer that holds a message, since when, and until when no other consumer may receive it."""

    holder: Holder
    since: Event
    until: float
    part: str  # node with the message


class Holds:
    """The holders of messages, updated event by event.

    The end of a process ends the holds of its deliveries. A consumer that reconnects holds a message that it
    claims, if the node accepts the claim. A new process knows the former consumers, but not their deliveries,
    so it may accept a false claim. A consumer that moved holds messages of other nodes for GRACE at least.
    """

    def __init__(self, unsure: Unsure, anew: Collection[Id] = ()) -> None:
        self._unsure = unsure  # messages that may exist twice, if marked redelivered
        self._anew = anew  # messages that may exist as two
        self._of: dict[Id, Hold] = {}
        self._over: set[tuple[str, int]] = set()  # processes that ended
        self._ever: dict[tuple[str, int, Id], str] = {}  # all deliveries: by session, number, message; node
        self._leases: dict[Holder, float] = {}  # lease in s of current consumers
        self._begun: dict[Holder, float] = {}  # when they began; their leases count from then
        self._expected: dict[Holder, float] = {}  # former consumers, and when they must be back
        self._back: set[Holder] = set()  # former consumers that were back in time
        self._commits: dict[Transaction, list[Id]] = {}  # what each transaction settles
        self.found: list[Violation] = []

    def event(self, e: Event) -> None:
        match e.kind:
            case "takes":
                self._takes((e.who, e.to, e.sub), e.at, e.stamp / 1000 or inf, is_end="e" in e.flags)
            case "gives":
                self._gives(e)
            case "opened":
                self._opens(e)
            case "says" if e.text in ENDS:
                self._ends(e)
            case "commit":
                self._commits[e.stream, e.first] = settled_by(e)
            case "outcome" if e.text == "OK":
                for name in self._commits.get((e.stream, e.first), ()):
                    self._of.pop(name, None)
            case "away":
                self._until((e.who, e.to), e.at + GRACE - SLACK)
            case "closed":
                self._until((e.who, e.to), -inf)
            case "crash" | "stop":
                self._over.add((e.who, e.boot))
                self._of = {name: hold for name, hold in self._of.items() if hold.part != e.who}
                self._expected = {h: until for h, until in self._expected.items() if until >= e.at}
                self._expected |= {h: inf for h in self._leases if h[0] == e.who}
                self._leases = {h: lease for h, lease in self._leases.items() if h[0] != e.who}
            case "start":
                self._expected |= {h: e.at + RECOVER + SLACK for h in self._expected if h[0] == e.who}

    def _takes(self, holder: Holder, at: float, lease: float, is_end: bool) -> None:
        """Start a new epoch: messages that the consumer held are free, unless its claim is accepted."""
        self._back.discard(holder)
        if self._expected.pop(holder, -inf) >= at:
            self._back.add(holder)
        self._of = {name: hold for name, hold in self._of.items() if hold.holder != holder}
        self._leases.pop(holder, None)
        self._begun[holder] = at
        if not is_end:
            self._leases[holder] = lease

    def _gives(self, e: Event) -> None:
        holder, hold = (e.who, e.to, e.sub), self._of.get(e.id)
        is_said = e.at >= self._unsure.since(e.id) and hold is not None and bool(e.gap or hold.since.gap)
        if hold is not None and hold.until > e.at and not is_said and e.id not in self._anew:
            self.found.append(Violation("Q3", f"{hold.holder[1]} has it", (hold.since, e)))
        self._ever[e.to, e.sub, e.id] = e.who
        if (e.who, e.boot) in self._over:  # late deliveries: stores in progress precede the goodbye
            self._of.pop(e.id, None)
            return
        lease = self._leases.get(holder, inf)
        self._of[e.id] = Hold(holder, e, e.at + lease * 0.98 - SLACK, e.who)

    def _opens(self, e: Event) -> None:
        session, kept = e.keys[0], e.keys[1:]
        holder = (e.to or session.split("/")[2], session, e.sub)
        for text in kept:
            stream, domain, number = text.split(" ")
            name = (stream, domain, int(number))
            part = self._ever.get((session, e.sub, name), "")
            if not part and holder not in self._back:
                self.found.append(Violation("Q3", f"{text} was never given to it", (e,)))
            if holder not in self._leases:
                continue  # its epoch has already ended
            hold = self._of.get(name)
            is_sure = e.at < self._unsure.since(name) and name not in self._anew
            if hold is not None and hold.until > e.at and is_sure and hold.holder[1:] != holder[1:]:
                self.found.append(Violation("Q3", f"{hold.holder[1]} has it, too", (hold.since, e)))
            until = e.at + GRACE
            if part in ("", holder[0]):
                until = self._begun[holder] + self._leases[holder] * 0.98
            self._of[name] = Hold(holder, e, until - SLACK, part or holder[0])

    def _ends(self, e: Event) -> None:
        hold = self._of.get(e.id)
        if hold is not None and hold.holder[1:] == (e.keys[0], e.sub):
            del self._of[e.id]

    def _until(self, session: tuple[str, str], at: float) -> None:
        """End all holds of a session at the time `at`, unless the session returns."""
        for hold in self._of.values():
            if hold.holder[:2] == session:
                hold.until = min(hold.until, at)
        for holder in [h for h in self._leases if h[:2] == session and at == -inf]:
            del self._leases[holder]


def one_holder(history: History, facts: Facts) -> list[Violation]:
    """Q3: a held message is delivered to no other consumer before it is settled, lost or its lease expires.

    A node accepts no claim of a message that it never delivered to the claimant.
    """
    holds = Holds(Unsure(history, facts), put_anew(history, facts))
    ends = ("says", "commit", "outcome", "away", "closed", "crash", "stop")
    kinds = ("takes", "gives", "opened", "start", *ends)
    for e in history.of(*kinds):
        holds.event(e)
    return holds.found
