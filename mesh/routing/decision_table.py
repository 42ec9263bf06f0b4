"""Routing decisions on waiting entries: one for each distinct question, made in small steps."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from mesh.mapping.decision import Decision
from mesh.routing.forward_table import ForwardTable
from mesh.routing.pending_forward import PendingForward, SharedDecision, course_of

# Law 1: when nodes join or leave, each question is decided once, however many entries it concerns.
# Law 2: the entries of a question are examined only if its route changes, or if some entries have followed
# another decision.
# Law 3: each turn of the loop decides and examines a limited number, the oldest entries first, and the next
# turn continues. Later events add to the remaining work and never restart it.
# Law 4: no entry leaves by an older decision, nor before an earlier entry of its publisher that may still be
# rerouted.

# Most entries and questions in one turn: about 5 ms if each entry must be rerouted.
LOOKS = 128
# Cheap checks of entries that count as one examination.
GLANCES = 64
# Rulings without entries are dropped when there are more rulings than this, and twice as many as in use.
USELESS = 1024


class DecisionTable:
    """The decisions on waiting entries, one for each distinct routing question.

    `decide(entry)` decides the question of an entry. `rouse(decision)` contacts the nodes of a decision, once
    for all its entries. `look(entry, decision)` applies a decision to one entry. `end_later` is called when
    `new_turn` has to be called at the end of this turn: work is left, or some of the limit is used.
    """

    def __init__(
        self,
        onward: ForwardTable,
        decide: Callable[[PendingForward], Decision],
        rouse: Callable[[Decision], None],
        look: Callable[[PendingForward, Decision], None],
        end_later: Callable[[], None],
    ) -> None:
        self._onward = onward
        self._decide = decide
        self._rouse = rouse
        self._look = look
        self._end_later = end_later
        self._rulings: dict[Hashable, SharedDecision] = {}
        self._useless = USELESS
        self._doubtful: dict[SharedDecision, None] = {}  # to be decided again, oldest first
        self._todo: list[int] = []  # serials to examine, oldest last
        self._more: list[int] = []  # serials not sorted in yet
        # By stream: serial of the last entry that may still be rerouted; 0 = none.
        self._held_up: dict[tuple[bytes, str], int] = {}
        self._left = LOOKS
        self._is_busy = False
        self.is_open = False  # work is left

    def file(
        self, entry: PendingForward, question: Hashable, decision: Decision, is_final: bool = True
    ) -> None:
        """File an entry under its question.

        All entries of the question are examined after its next decision if that leads to another route, if
        `is_final` is False, or if `decision` differs from the filed one.
        """
        course = course_of(decision)
        ruling = self._rulings.get(question)
        if ruling is None:
            ruling = self._rulings[question] = SharedDecision(decision, course)
            if len(self._rulings) > self._useless:
                self._throw_away()
        elif not ruling.entries and ruling not in self._doubtful:
            ruling.decision, ruling.course, ruling.is_mixed = decision, course, False
        if course == ruling.course and is_final:
            course = ruling.course  # shares one object
        else:
            ruling.is_mixed = True
        entry.ruling, entry.course = ruling, course if is_final else None
        ruling.entries[entry.serial] = entry

    def _throw_away(self) -> None:
        self._rulings = {q: r for q, r in self._rulings.items() if r.entries or r in self._doubtful}
        self._useless = max(USELESS, 2 * len(self._rulings))

    def without(self, entry: PendingForward) -> None:
        """Detach an entry from its ruling until it is filed again."""
        if entry.ruling is not None:
            del entry.ruling.entries[entry.serial]
            entry.ruling = None

    def refile(self, question: Callable[[PendingForward], Hashable], sent_too: bool = False) -> None:
        """Regroup the entries by `question` after rules have changed, to be examined after the next decision.

        An entry that was sent may be at its master under the former rules, so it leaves the table and keeps
        its route, unless `sent_too`. Entries addressed to a node stay: no rule changes their master.
        """
        entries = {serial: e for ruling in self._rulings.values() for serial, e in ruling.entries.items()}
        self._rulings, self._doubtful = {}, {}
        for serial, entry in sorted(entries.items()):
            old, entry.ruling = entry.ruling, None
            if old is not None and (entry.node or sent_too or not entry.was_sent):
                fresh = SharedDecision(old.decision, old.course, is_mixed=True)
                ruling = entry.ruling = self._rulings.setdefault(question(entry), fresh)
                ruling.entries[serial] = entry
        self._held_up.clear()

    def mark_outdated(self, also: Iterable[PendingForward] = ()) -> None:
        """Mark all questions to be decided again, after nodes or rules have changed.

        The entries in `also` are examined in any case.
        """
        for ruling in self._rulings.values():
            if ruling.entries:
                self._doubtful.setdefault(ruling)
        self._more += [entry.serial for entry in also]
        self._held_up.clear()
        self.is_open = self._is_left
        if self.is_open:
            self._end_later()

    @property
    def _is_left(self) -> bool:
        return bool(self._doubtful or self._todo or self._more)

    def new_turn(self) -> bool:
        """Reset the limit of work for a new turn of the loop, and return whether work is left."""
        self._left = LOOKS
        return self.is_open

    def _spend(self, looks: int) -> None:
        """Count decisions and examinations in the limit of this turn."""
        self._left -= looks
        self._end_later()

    def takes_look(self) -> bool:
        """Return whether one more decision fits in this turn, and count it if so."""
        if self._left <= 0:
            return False
        self._spend(1)
        return True

    def go_on(self) -> None:
        """Decide the marked questions, then examine the affected entries, within the limit of this turn."""
        if self._is_busy:
            return  # called from within a decision
        self._is_busy = True
        while self._left > 0 and self._is_left:
            if self._doubtful:
                self._settle(next(iter(self._doubtful)))
            else:
                self._look_at_oldest()
        self._is_busy = False
        self.is_open = self._is_left

    def _look_at_oldest(self) -> None:
        self._spend(1)
        serial = self._oldest()
        self._todo.pop()
        entry = self._onward.entry(serial)
        if entry is not None and entry.ruling is not None:
            entry.course = entry.ruling.course
            self._look(entry, entry.ruling.decision)

    def _settle(self, ruling: SharedDecision) -> None:
        self._spend(1)
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
        """Return the serial of the next entry to examine, or 0."""
        if self._more:
            self._todo = sorted({*self._todo, *self._more}, reverse=True)
            self._more = []
        return self._todo[-1] if self._todo else 0

    # --- leaving ----------------------------------------------------------------------------------------

    def may_leave(self, entry: PendingForward) -> bool:
        """Return whether the entry may leave: no entry of its stream up to it may still be rerouted.

        Open questions of the stream are decided first, within the limit of this turn. The result may be False
        although only a later entry of the stream may be rerouted.
        """
        if not self.is_open:
            return True
        if not self._doubtful and entry.serial < self._oldest():
            return True
        return not self.holds_up(entry.key)

    def holds_up(self, lane: tuple[bytes, str]) -> bool:
        """Return whether any entry of the stream may still be rerouted.

        The result is also True if this turn has no budget left to decide that.
        """
        if not self.is_open:
            return False
        held = self._held_up.get(lane)
        if held is None:
            if self._left <= 0:
                return True
            held = self._held_up_to(lane)
        return bool(held) and (bool(self._doubtful) or held >= self._oldest())

    def is_unsettled(self, entry: PendingForward) -> bool:
        ruling = entry.ruling
        return self.is_open and ruling is not None and (ruling in self._doubtful or _is_stale(entry, ruling))

    def _held_up_to(self, lane: tuple[bytes, str]) -> int:
        """Return the serial of the stream's last entry that must be examined, or 0.

        Open questions of the stream are decided first.
        """
        entries = self._onward.lane(lane)
        self._spend(len(entries) // GLANCES)
        self._is_busy = True
        for ruling in {entry.ruling for entry in entries}:
            if ruling in self._doubtful:
                self._settle(ruling)
        self._is_busy = False
        held = max((e.serial for e in entries if e.ruling and _is_stale(e, e.ruling)), default=0)
        self._held_up[lane] = held
        return held


def _is_stale(entry: PendingForward, ruling: SharedDecision) -> bool:
    return entry.course is not ruling.course and entry.course != ruling.course
