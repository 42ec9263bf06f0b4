"""The reach state of another node, and the time of its next dial."""

# Rule 1: a node's reach state changes in this file only, and only by REACH_TABLE.
# Rule 2: nothing here dials or hangs up; each event returns the actions for the caller, in order.

from __future__ import annotations

from collections.abc import Callable, Iterable

from mesh.kernel.peers.reach_table import REACH_TABLE, ReachAction, ReachEvent, ReachState
from mesh.links.backoff import Timing, delay
from mesh.links.table import step
from mesh.wire.commands import Call, Census, Probe, ProbeFor

ReachQuestion = Probe | ProbeFor | Census | Call  # questions for which to connect

HEAD_START = 0.3  # s for the lower uuid to dial first
STAGGER = 0.15  # s until the next address is dialed as well
SHORT = 60  # dials before longer waits for a dead node
SHORT_WAIT = 2.0  # s at most between dials after a cut
LIVING = (ReachState.ALIVE, ReachState.SUSPECT)


class Reach:
    """The reach state of one node, and the time of its next dial.

    Actions about waiting are carried out here and never returned. `jitter` returns a random number from 0 to
    1; `timing` has the shortest and the longest wait.
    """

    __slots__ = ("_jitter", "_timing", "attempt", "due", "question", "state", "untried")

    def __init__(self, jitter: Callable[[], float], timing: Timing) -> None:
        self._jitter = jitter
        self._timing = timing
        self.state = ReachState.AWAY
        self.due = 0.0  # when to dial next
        self.attempt = 0  # failed dials
        self.untried: list[str] | None = None  # addresses left in this attempt
        self.question: ReachQuestion | None = None  # waits for the connection

    @property
    def is_waiting(self) -> bool:
        """Whether a question or a further address waits for a dial."""
        return self.question is not None or bool(self.untried)

    def is_due(self, now: float) -> bool:
        """Return whether the node may be dialed now."""
        return now >= self.due and self.state is not ReachState.LEFT

    def happens(self, event: ReachEvent, now: float) -> list[ReachAction]:
        """Take a step of the table, and return the actions that are left to the caller."""
        self.state, actions = step(REACH_TABLE, self.state, event, "docs/links.md", "REACH_EVENT")
        return [action for action in actions if self._is_for_caller(action, now)]

    def delay_dial(self, until: float) -> None:
        """Delay the next dial until `until`, unless the dial is due even later."""
        self.due = max(self.due, until)

    def set_question(self, question: ReachQuestion, now: float) -> None:
        """Keep a question until there is a connection; a later question replaces it."""
        self.question = question
        self.happens(ReachEvent.ASKED, now)

    def answerable(self) -> ReachQuestion | None:
        """Return the question that waited for the connection, and forget it."""
        question, self.question = self.question, None
        return question

    def next_address(self, places: Iterable[str], is_dialling: bool, now: float) -> str | None:
        """Return the address to dial now, or `None` if all are being dialed.

        Each address has a head start of STAGGER seconds before the next one.
        """
        if not self.untried:
            if is_dialling:
                return None
            self.happens(ReachEvent.DIALLED, now)
            self.untried = list(dict.fromkeys(filter(None, places)))
        self.due = now + STAGGER
        return self.untried.pop(0)

    def _is_for_caller(self, action: ReachAction, now: float) -> bool:
        """Carry out an action about waiting, or return `True` for any other action."""
        match action:
            case ReachAction.SOON:
                self.due = min(self.due, now + HEAD_START)
            case ReachAction.NOW:
                self.due = min(self.due, now)
            case ReachAction.FORGIVE:
                self.attempt, self.untried = 0, None
            case ReachAction.BACK_OFF:
                self._back_off(now, self.attempt + 1 < SHORT)
            case ReachAction.RETRY:
                self._back_off(now, is_short=True)
            case ReachAction.RETRY_RARELY:
                self.due = now + self._timing.high
            case ReachAction.AFRESH:
                self.attempt, self.untried, self.question = 0, None, None
                self.due = now + self._wait(1)
            case _:
                return True
        return False

    def _back_off(self, now: float, is_short: bool) -> None:
        if self.untried:
            self.due = now  # the next address is dialed immediately
            return
        self.attempt += 1
        self.due = now + self._wait(self.attempt, is_short)

    def _wait(self, attempt: int, is_short: bool = False) -> float:
        high = min(SHORT_WAIT, self._timing.high) if is_short else self._timing.high
        return delay(attempt, self._jitter(), low=self._timing.low, high=high)
