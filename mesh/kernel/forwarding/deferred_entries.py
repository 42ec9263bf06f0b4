"""Defers entries while rules change."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator

from mesh.kernel.context.node_context import NodeContext
from mesh.mapping.decision import Decision, Kind
from mesh.routing.decision_table import LOOKS, DecisionTable
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward
from mesh.wire.envelope import Envelope

# Law 1: each returned entry is decided again by itself. The entries of a stream that wait for an earlier one
#        are decided one after another.
# Law 2: one turn of the event loop decides as many entries as rulings allow; the rest follow in later turns.
# Law 3: retries slow down with the number of deferred entries: at most LOOKS in each AGAIN.

LATELY = 60.0  # s after a change of rules in which loops are not final
AGAIN = 0.1  # s until a returned entry is decided again
RULES = "rules are changing: "
EARLY = "earlier messages of the publisher are still in transit"


class DeferredEntries:
    """The entries that a hop has returned while rules change, and entries that wait for earlier ones."""

    def __init__(self, context: NodeContext, onward: ForwardTable, rulings: DecisionTable) -> None:
        self._context = context
        self._onward = onward
        self._rulings = rulings
        self._until = 0.0  # rules count as changing until then
        self._again: dict[PendingForward, float] = {}  # time of the next decision
        # By stream, in order: entries that wait for an earlier one. Only the first is in `_again` as well.
        self._lanes: dict[tuple[bytes, str], list[PendingForward]] = {}
        self._old: set[tuple[bytes, str]] = set()  # streams with entries sent by earlier rules

    def ruled(self) -> None:
        """Schedule new decisions on entries that wait for earlier ones, as their routes may now differ.

        For the next 60 s, nodes may have different versions of the rules.
        """
        self._until = self._context.clock.now + LATELY
        for lane in self._lanes.values():
            self._again.update(dict.fromkeys(lane, self._context.clock.now))
            self._context.clock.wake(self._context.clock.now)
        self._lanes.clear()

    @property
    def is_lately(self) -> bool:
        """Whether nodes may still have different versions of the rules."""
        return self._context.clock.now < self._until

    def refiled(self) -> None:
        """Record the streams with entries that were sent under earlier rules, or are deferred."""
        self._old = {entry.key for entry in self._onward.entries() if entry.ruling is None}

    def waits_for(self, e: Envelope, decision: Decision, is_in_turn: bool = False) -> PendingForward | None:
        """Return the entry of the same stream that an envelope must wait for, or `None`.

        The entry is deferred, or is in flight to another hop under earlier rules. If this node is the only
        master now, an entry whose decision is still open counts as well, unless `is_in_turn`. A direct
        message never waits.
        """
        if e.to:
            return None
        if self._again or self._old:
            for entry in self._onward.before(e):
                if self._is_put_off(entry) or self._is_elsewhere(entry, decision.hops):
                    return entry
        is_here = decision.kind is Kind.HERE and not decision.copies
        if is_in_turn or not is_here or not self._rulings.holds_up((e.stream, e.domain)):
            return None
        return next(filter(self._rulings.is_unsettled, self._onward.before(e)), None)

    def _is_put_off(self, entry: PendingForward) -> bool:
        return entry in self._again or _place(self._lanes.get(entry.key, []), entry)[1]

    def _is_elsewhere(self, entry: PendingForward, hops: Collection[str]) -> bool:
        """Return whether an entry that was sent under earlier rules is in flight to another hop."""
        if not self.is_lately or entry.ruling is not None or entry.envelope.to or entry.key not in self._old:
            return False
        return any(hop not in hops and self._onward.is_under_way(entry, hop) for hop in entry.hops)

    def defer_returned(self, entry: PendingForward, why: str, is_changing: bool) -> None:
        """Defer an entry that a hop returned.

        `is_changing` means that the hop gives changing rules as the reason.
        """
        entry.take_back()
        self._defer(entry, why if is_changing else f"{RULES}{why}")
        self._plan(entry)

    def put_behind(self, entry: PendingForward, other: PendingForward) -> None:
        """Defer `entry`, which must wait for `other`."""
        self._defer(entry, f"{RULES}{EARLY}")
        lane = self._lanes.setdefault(entry.key, [])
        place, is_there = _place(lane, entry)
        if not is_there:
            lane.insert(place, entry)
        if place:
            self._again.pop(entry, None)
        else:
            self._plan(entry, self._again.get(other, 0.0))

    def _defer(self, entry: PendingForward, why: str) -> None:
        self._rulings.without(entry)
        self._onward.set_next_hops(entry, ("",), why)

    def _plan(self, entry: PendingForward, at: float = 0.0) -> None:
        """Schedule a new decision on an entry: at `at`, or after a delay if `at` is not in the future."""
        now = self._context.clock.now
        self._again[entry] = at if at > now else now + AGAIN * max(1.0, len(self._again) / LOOKS)
        self._context.clock.wake(self._again[entry])

    def take_due(self) -> Iterator[PendingForward]:
        """Yield the entries to decide now, within the budget of this turn of the event loop.

        An entry stops waiting, unless the caller defers it again before asking for the next entry.
        """
        now = self._context.clock.now
        ready = deque(entry for entry, at in self._again.items() if at <= now)
        while ready and self._rulings.takes_look():
            entry = ready.popleft()
            if self._again.get(entry, now + 1) > now:
                continue
            if not entry.is_done:
                yield entry
            if self._again.get(entry, now + 1) <= now:  # not deferred again
                ready.extend(self._leaves(entry))
        if self._again:
            self._context.clock.wake(min(self._again.values()))

    def _leaves(self, entry: PendingForward) -> list[PendingForward]:
        """End the wait of an entry, and return the next entry to decide, if any."""
        del self._again[entry]
        lane = self._lanes.get(entry.key, [])
        place, is_there = _place(lane, entry)
        if is_there:
            del lane[place]
        if not lane:
            self._lanes.pop(entry.key, None)
        elif is_there and not place:
            self._again[lane[0]] = self._context.clock.now
            return lane[:1]
        return []


def _place(lane: list[PendingForward], entry: PendingForward) -> tuple[int, bool]:
    """Return the place of an entry among the waiting entries of its stream, and whether it is there."""
    place = bisect_left(lane, entry.envelope.first, key=lambda each: each.envelope.first)
    return place, place < len(lane) and lane[place] is entry
