"""What is put off while rules change, and for how long?"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator

from mesh.core.desk.desk import Desk
from mesh.mapping.decision import Decision, Kind
from mesh.routing.entry import Entry
from mesh.routing.onward import Onward
from mesh.routing.rulings import LOOKS, Rulings
from mesh.wire.envelope import Envelope

# Law 1: what came back is decided anew by itself. Of what waits only for what its publisher sent before, the
#        first is, and once that waits no more the next one.
# Law 2: in one turn of the loop so much is decided as rulings allow; what is left is in the next one.
# Law 3: the more is put off, the later it is looked at again: no more than LOOKS in each AGAIN.

LATELY = 60.0  # s after a change of rules in which a circle is no last word
AGAIN = 0.1  # s after which what came back from one is decided anew
RULES = "rules are changing: "
EARLY = "what its publisher sent before is still under way"


class PutOff:
    """Entries that came back from a circle, and those that their publishers sent after them."""

    def __init__(self, desk: Desk, onward: Onward, rulings: Rulings) -> None:
        self._desk = desk
        self._onward = onward
        self._rulings = rulings
        self._until = 0.0  # rules have changed of late
        self._again: dict[Entry, float] = {}  # when each is decided anew
        # By stream, in its order: those that wait for what was sent before. Only the first stands above, too.
        self._lanes: dict[tuple[bytes, str], list[Entry]] = {}
        self._old: set[tuple[bytes, str]] = set()  # streams of which something was sent by rules of before

    def ruled(self) -> None:
        """Rules change: what waits for others may go another way than they."""
        self._until = self._desk.now + LATELY
        for lane in self._lanes.values():
            self._again.update(dict.fromkeys(lane, self._desk.now))
            self._desk.wake(self._desk.now)
        self._lanes.clear()

    @property
    def is_lately(self) -> bool:
        """May some nodes have new rules, and others not yet?"""
        return self._desk.now < self._until

    def refiled(self) -> None:
        """Rules have changed: what has no ruling any more was sent by those before."""
        self._old = {entry.key for entry in self._onward.entries() if entry.ruling is None}

    def waits_for(self, e: Envelope, decision: Decision, is_in_turn: bool = False) -> Entry | None:
        """What its publisher sent before, and that is put off, or under way by rules of before, to where this
        does not go; or that this node, which is its master now, has still to see to, unless it sees to all of
        that one by one. None where there is nothing.

        All that waits for one goes with it. Else what comes meanwhile would wait for what waits, for ever.
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

    def _is_put_off(self, entry: Entry) -> bool:
        return entry in self._again or _place(self._lanes.get(entry.key, []), entry)[1]

    def _is_elsewhere(self, entry: Entry, hops: Collection[str]) -> bool:
        """Is it under way by rules of before?"""
        if not self.is_lately or entry.ruling is not None or entry.envelope.to or entry.key not in self._old:
            return False
        return any(hop not in hops and self._onward.is_under_way(entry, hop) for hop in entry.hops)

    def comes_back(self, entry: Entry, why: str) -> None:
        """Nobody has it: it waits a little."""
        entry.was_sent = False
        self._put(entry, why)
        self._plan(entry)

    def put_behind(self, entry: Entry, other: Entry) -> None:
        """It waits for that one, and goes with it if that is put off, too."""
        self._put(entry, EARLY)
        lane = self._lanes.setdefault(entry.key, [])
        place, is_there = _place(lane, entry)
        if not is_there:
            lane.insert(place, entry)
        if place:
            self._again.pop(entry, None)
        else:
            self._plan(entry, self._again.get(other, 0.0))

    def _put(self, entry: Entry, why: str) -> None:
        """It goes nowhere for now."""
        self._rulings.without(entry)
        self._onward.assign(entry, ("",), f"{RULES}{why.removeprefix(RULES)}")

    def _plan(self, entry: Entry, at: float = 0.0) -> None:
        """It is decided anew then, or in a while."""
        now = self._desk.now
        self._again[entry] = at if at > now else now + AGAIN * max(1.0, len(self._again) / LOOKS)
        self._desk.wake(self._again[entry])

    def due(self) -> Iterator[Entry]:
        """Those that are to be decided anew now, each as its turn comes."""
        now = self._desk.now
        ready = deque(entry for entry, at in self._again.items() if at <= now)
        while ready and self._rulings.takes_look():
            entry = ready.popleft()
            if self._again.get(entry, now + 1) > now:
                continue
            if not entry.is_done:
                yield entry
            if self._again.get(entry, now + 1) <= now:  # it is not put off once more
                ready.extend(self._leaves(entry))
        if self._again:
            self._desk.wake(min(self._again.values()))

    def _leaves(self, entry: Entry) -> list[Entry]:
        """It waits no more; nor does the one behind it, perhaps, which is returned."""
        del self._again[entry]
        lane = self._lanes.get(entry.key, [])
        place, is_there = _place(lane, entry)
        if is_there:
            del lane[place]
        if not lane:
            self._lanes.pop(entry.key, None)
        elif is_there and not place:
            self._again[lane[0]] = self._desk.now
            return lane[:1]
        return []


def _place(lane: list[Entry], entry: Entry) -> tuple[int, bool]:
    """Its place among those of its stream, and whether it stands there."""
    place = bisect_left(lane, entry.envelope.first, key=lambda each: each.envelope.first)
    return place, place < len(lane) and lane[place] is entry
