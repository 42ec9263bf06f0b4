"""Which rules count at this node? They may change while messages flow, in two steps."""

# Law 1: a decision is made by the rules of one moment, all of them.
# Law 2: first it asks for messages by both, SWITCH later it sends by the new ones, and for a while it asks
#        by both still. So nobody misses anything, if all nodes hear of the rules within SWITCH.
# Law 3: what waits here, and was never sent on, is decided anew. What was sent goes on where it was sent,
#        until its last word: its master may have it.
# Law 4: while rules spread they may lead in a circle. That is no last word as long as it may be for that.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from mesh.core.asking.demand import Demand
from mesh.core.delivery.router import Router
from mesh.core.desk.asked import Inquiry, Right, Verb, answer
from mesh.core.desk.desk import Desk
from mesh.core.desk.pages import fitting
from mesh.core.desk.part import Beginning, Part, Reloaded, RuleSet, no_file
from mesh.core.peers.facts import WaysChanged
from mesh.core.states.gossiping import Gossiping
from mesh.core.ways.facts import Ruled
from mesh.core.ways.nodes import Nodes
from mesh.errors import LocalError, NotAvailable
from mesh.mapping.mapping import Mapping
from mesh.mapping.rules import Rule, has_several
from mesh.wire.calls import AskReload
from mesh.wire.replies import ReloadTold

SWITCH = 5.0  # s between the two steps,
ENDS = 60.0  # and until nothing is asked for any more by the rules before
LINES, TOLD = 1000, 8  # changes that are listed in an answer, and in an event


class Ruling(Part):
    """The rules that count, and those that are to."""

    def __init__(
        self, desk: Desk, mapping: Mapping, nodes: Nodes, router: Router, gossiping: Gossiping, demand: Demand
    ) -> None:
        self._desk = desk
        self._mapping = mapping
        self._nodes = nodes
        self._router = router
        self._gossiping = gossiping
        self._demand = demand
        self._read: Callable[[], Reloaded] = no_file
        self._next: RuleSet | None = None
        self._due = inf

    def client_verbs(self) -> Sequence[Verb]:
        return (answer(AskReload, self._asked, Right.RUN),)

    def start(self, beginning: Beginning) -> None:
        self._read = beginning.reload

    def _asked(self, asked: Inquiry[AskReload]) -> None:
        found = self.reload(asked.who.text)
        asked.say(ReloadTold(now=fitting(found.now, LINES), later=fitting(found.later, LINES)))

    def reload(self, by: str) -> Reloaded:
        """Read the configuration again, and go by it. LocalError: all stays as it is."""
        found = self._read()
        if found.ruleset is not None:
            self.adopt(*found.ruleset)
        self._desk.settings = replace(self._desk.settings, **found.limits)
        found.keep()
        self._desk.event("settings", f"{by}: {told(found)}", level="warning" if found.later else "info")
        return found

    def reload_and_tell(self, by: str) -> None:
        """The same, where nobody waits for the answer."""
        try:
            self.reload(by)
        except LocalError as error:
            self._desk.event("settings", f"{by}: nothing is taken on: {error}", level="warning")

    def adopt(self, rules: Sequence[Rule], known: Sequence[str]) -> None:
        """These are to count: in SWITCH s. Said again meanwhile, that begins anew. NotAvailable."""
        self.check(rules)
        self._next, self._due = RuleSet(tuple(rules), tuple(known)), self._desk.now + SWITCH
        self._nodes.adopt({*known, *self._nodes.named_ones})
        self._demand.expect(rules)
        self._gossiping.adopt((*self._mapping.rules, *rules))
        self._said(is_now=False)
        self._desk.wake(self._due)

    def check(self, rules: Sequence[Rule]) -> None:
        """NotAvailable where these cannot take the place of those that count, or are to, while this runs."""
        counted = self._mapping.rules if self._next is None else self._next.rules
        if tuple(rules) == counted:
            return
        # What several masters bring is told apart by the order in which each brings it.
        if any(map(has_several, (self._mapping.rules, counted, rules))):
            text = "where a message has several masters, rules count after a restart only."
            raise NotAvailable(text, hint="Start the nodes again, each with its new file.")

    def tick(self) -> None:
        if self._desk.now < self._due:
            self._desk.wake(self._due)
            return
        if self._next is not None:
            (rules, known), self._next = self._next, None
            before = self._mapping.rules
            self._mapping.adopt(rules)
            self._demand.expect(before)  # others may go by them still
            self._nodes.adopt(known)
            self._router.ruled(self._mapping.is_plain)
            self._gossiping.adopt(rules)
            self._said(is_now=True)
            self._due = self._desk.now + ENDS
        else:
            self._demand.expect(None)
            self._due = inf
        self._desk.wake(self._due)

    def _said(self, is_now: bool) -> None:
        self._desk.say(Ruled(is_now))
        self._desk.say_last(WaysChanged())


def told(found: Reloaded) -> str:
    """What was taken on and what was not, in words."""
    taken = f"taken on: {'; '.join(_some(found.now))}" if found.now else ""
    rest = f"wants a restart, and is as before: {', '.join(_some(found.later))}" if found.later else ""
    return ". ".join(filter(None, (taken, rest))) or "the settings are as they were"


def _some(lines: Sequence[str]) -> Sequence[str]:
    left = len(lines) - TOLD
    return [*lines[:TOLD], f"and {left:,} more"] if left > 0 else lines
