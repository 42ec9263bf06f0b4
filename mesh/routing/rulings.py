"""What was decided of everything that waits? One decision for each distinct question, and not all at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from mesh.mapping.decision import Decision
from mesh.routing.entry import Entry, EntryRuling, course_of
from mesh.routing.onward import Onward

# Law 1: when nodes come or go, each question is decided once, however many entries it is about.
# Law 2: an entry is looked at only if what was decided for it is another course than before.
# Law 3: in one turn so much is decided and looked at, and no more; the next turn goes on behind it, the
#        oldest entry first. Whatever happens meanwhile adds to what is left, and begins nothing anew.
# Law 4: nothing leaves by an older decision, nor before what its publisher sent earlier and that may still go
#        another way.

LOOKS = 128  # entries or questions in a turn: 5 ms, where each of them has to go another way
GLANCES = 64  # entries of which one is only asked whether it has to be looked at, for one look
USELESS = 1024  # rulings; with more, and more than twice what is used, those about nothing are thrown away


class Rulings:
    """The decisions on what waits. `decide(entry)` answers its question, `rouse(decision)` sees to its
    nodes, once for all entries; `look(entry, decision)` carries it out for one of them."""

    def __init__(
        self,
        onward: Onward,
        decide: Callable[[Entry], Decision],
        rouse: Callable[[Decision], None],
        look: Callable[[Entry, Decision], None],
    ) -> None:
        self._onward = onward
        self._decide = decide
        self._rouse = rouse
        self._look = look
        self._rulings: dict[Hashable, EntryRuling] = {}
        self._useless = USELESS
        self._doubtful: dict[
            EntryRuling, None
        ] = {}  # not decided yet since something changed, the first first
        self._todo: list[int] = []  # serials of entries to be looked at, the oldest last,
        self._more: list[int] = []  # and those that are not in their places yet
        # Stream -> serial of the last entry of it that goes another way now; 0 = none does.
        self._held_up: dict[tuple[bytes, str], int] = {}
        self._left = LOOKS
        self._is_busy = False
        self.is_open = False  # something is left to decide, or to be looked at,
        self.was_open = False  # or was in this turn

    def file(self, entry: Entry, question: Hashable, decision: Decision, is_final: bool = True) -> None:
        """A new entry, that goes on so. `is_final`: it need not be looked at until that changes."""
        course = course_of(decision)
        ruling = self._rulings.get(question)
        if ruling is None:
            ruling = self._rulings[question] = EntryRuling(decision, course)
            if len(self._rulings) > self._useless:
                self._throw_away()
        elif not ruling.entries and ruling not in self._doubtful:
            ruling.decision, ruling.course, ruling.is_mixed = decision, course, False
        if course == ruling.course and is_final:
            course = ruling.course  # one for all
        else:
            ruling.is_mixed = True
        entry.ruling, entry.course = ruling, course if is_final else None
        ruling.entries[entry.serial] = entry

    def _throw_away(self) -> None:
        """Throw away rulings that are about nothing any more."""
        self._rulings = {q: r for q, r in self._rulings.items() if r.entries or r in self._doubtful}
        self._useless = max(USELESS, 2 * len(self._rulings))

    def without(self, entry: Entry) -> None:
        """It goes by no decision until it is filed anew."""
        if entry.ruling is not None:
            del entry.ruling.entries[entry.serial]
            entry.ruling = None

    def refile(self, question: Callable[[Entry], Hashable]) -> None:
        """Rules have changed: what was one question may be several now, and each entry is to be looked at.
        But what was sent on may be at its master by the rules before: it stays there until its last word. For
        what is addressed to a node there is no other master, whatever rules say.
        """
        entries = {serial: e for ruling in self._rulings.values() for serial, e in ruling.entries.items()}
        self._rulings, self._doubtful = {}, {}
        for serial, entry in sorted(entries.items()):
            old, entry.ruling = entry.ruling, None
            if old is not None and (entry.node or not entry.was_sent):
                fresh = EntryRuling(old.decision, old.course, is_mixed=True)
                ruling = entry.ruling = self._rulings.setdefault(question(entry), fresh)
                ruling.entries[serial] = entry
        self._held_up.clear()

    def doubt(self, also: Iterable[Entry] = ()) -> None:
        """Nodes have come or gone, or rules have changed. `also` are to be looked at in any case."""
        for ruling in self._rulings.values():
            if ruling.entries:
                self._doubtful.setdefault(ruling)
        self._more += [entry.serial for entry in also]
        self._held_up.clear()
        self.is_open = self.was_open = self._is_left

    @property
    def _is_left(self) -> bool:
        return bool(self._doubtful or self._todo or self._more)

    def new_turn(self) -> bool:
        """The loop has heard others, and as much as before may be done again. Is anything left?"""
        self._left = LOOKS
        self.was_open = self.is_open
        return self.is_open

    def takes_look(self) -> bool:
        """Is there time in this turn to decide something that is not filed here? That is used up then."""
        self.was_open = True
        if self._left <= 0:
            return False
        self._left -= 1
        return True

    def go_on(self) -> None:
        """Decide what is in doubt, then look at what that changes, as far as there is time in this turn."""
        if self._is_busy:
            return  # a decision has led to this: whoever makes it goes on
        self._is_busy = True
        while self._left > 0 and self._is_left:
            if self._doubtful:
                self._settle(next(iter(self._doubtful)))
            else:
                self._look_at_oldest()
        self._is_busy = False
        self.is_open = self._is_left

    def _look_at_oldest(self) -> None:
        self._left -= 1
        serial = self._oldest()
        self._todo.pop()
        entry = self._onward.entry(serial)
        if entry is not None and entry.ruling is not None:
            entry.course = entry.ruling.course
            self._look(entry, entry.ruling.decision)

    def _settle(self, ruling: EntryRuling) -> None:
        """Answer its question again."""
        self._left -= 1
        del self._doubtful[ruling]
        entry = next(iter(ruling.entries.values()), None)
        if entry is None:
            return
        ruling.decision = self._decide(entry)
        course = course_of(ruling.decision)
        if course != ruling.course or ruling.is_mixed:
            ruling.course, ruling.is_mixed = course, False
            self._more += ruling.entries
            self._held_up.clear()
        self._rouse(ruling.decision)

    def _oldest(self) -> int:
        """Serial of the entry to be looked at next; 0 = there is none."""
        if self._more:
            self._todo = sorted({*self._todo, *self._more}, reverse=True)
            self._more = []
        return self._todo[-1] if self._todo else 0

    # --- leaving ----------------------------------------------------------------------------------------

    def may_leave(self, entry: Entry) -> bool:
        """Is it decided, and all that its publisher sent before it? What is not yet is, if there is time."""
        if not self.is_open:
            return True
        if not self._doubtful and entry.serial < self._oldest():
            return True
        return not self.holds_up(entry.key)

    def holds_up(self, lane: tuple[bytes, str]) -> bool:
        """May anything of that stream still go another way than it stands?"""
        if not self.is_open:
            return False
        held = self._held_up.get(lane)
        if held is None:
            if self._left <= 0:
                return True
            held = self._held_up_to(lane)
        return bool(held) and (bool(self._doubtful) or held >= self._oldest())

    def is_unsettled(self, entry: Entry) -> bool:
        """May it still go another way than it stands?"""
        ruling = entry.ruling
        return self.is_open and ruling is not None and (ruling in self._doubtful or _is_stale(entry, ruling))

    def _held_up_to(self, lane: tuple[bytes, str]) -> int:
        """See what of that stream has to be looked at first."""
        entries = self._onward.lane(lane)
        self._left -= len(entries) // GLANCES
        self._is_busy = True
        for ruling in {entry.ruling for entry in entries}:
            if ruling in self._doubtful:
                self._settle(ruling)
        self._is_busy = False
        held = max((e.serial for e in entries if e.ruling and _is_stale(e, e.ruling)), default=0)
        self._held_up[lane] = held
        return held


def _is_stale(entry: Entry, ruling: EntryRuling) -> bool:
    return entry.course is not ruling.course and entry.course != ruling.course
